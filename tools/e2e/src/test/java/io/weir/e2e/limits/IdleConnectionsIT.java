// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Very many connections that say nothing: 2,000 against a node that takes so many, 10,000 with
 * {@code -Dweir.e2e.long=true} against one with the default, in 512 MiB.
 */
final class IdleConnectionsIT {
  private static final boolean LONG = Boolean.getBoolean("weir.e2e.long");
  private static final int MAX_CONNECTIONS = LONG ? 10_000 : 2_000;

  /** Connections of callers, of the test's own questions, and some that have just ended. */
  private static final int OTHERS = 20;

  private static final int CALLS = 200;

  private final Deque<SocketChannel> idle = new ArrayDeque<>();

  @AfterEach
  void closeAll() throws IOException {
    for (SocketChannel channel : idle) {
      channel.close();
    }
  }

  @Test
  void idleConnections_atTheBound_leaveOthersServed_inABoundedHeap(@TempDir Path folder)
      throws Exception {
    Map<String, String> settings =
        LONG ? Map.of() : Map.of("WEIR_MAX_CONNECTIONS", Integer.toString(MAX_CONNECTIONS));
    try (SmallNode node = new SmallNode(folder, "512m", "policies: []\n", settings)) {
      int below = MAX_CONNECTIONS - OTHERS;
      Await.until(
          () -> below + " connections: " + node.errors(),
          () -> {
            assertTrue(node.isAlive(), node::errors);
            // the oldest may have been idle for too long meanwhile
            open(node.port(), below - (int) node.metric("weir_http_connections"));
            return node.metric("weir_http_connections") >= below - OTHERS;
          });
      double heapBefore = node.heapMegabytes();
      for (int i = 0; i < CALLS; i++) {
        assertEquals(200, node.check("{\"client\":\"other\"}").statusCode());
      }
      System.out.printf(
          "%,d idle connections: %,.0f MB of heap in use, %,.0f MB after %d calls%n",
          below, heapBefore, node.heapMegabytes(), CALLS);

      open(node.port(), 2 * OTHERS);
      assertWaitsUntilAnIdleOneEnds(node);
      assertTrue(node.metric("weir_http_connections") <= MAX_CONNECTIONS);
      assertEquals(0, node.metric("weir_calls_shed_total"));
      assertEquals(200, node.check("{\"client\":\"other\"}").statusCode());
      assertTrue(node.isAlive(), node::errors);
    }
  }

  private void open(int port, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      idle.add(connect(port));
    }
  }

  private static SocketChannel connect(int port) throws IOException {
    SocketChannel channel = SocketChannel.open();
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    return channel;
  }

  /** The documented way: one more waits to be accepted; it is served when an idle one has ended. */
  private void assertWaitsUntilAnIdleOneEnds(SmallNode node) throws IOException {
    try (SocketChannel oneMore = connect(node.port())) {
      oneMore.write(
          ByteBuffer.wrap(
              "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  .getBytes(StandardCharsets.ISO_8859_1)));
      ByteBuffer answer = ByteBuffer.allocate(12);
      while (answer.hasRemaining()) {
        assertTrue(oneMore.read(answer) > 0, "ended without an answer");
      }
      assertEquals("HTTP/1.1 200", new String(answer.array(), StandardCharsets.ISO_8859_1));
    }
    long ended = 0;
    for (SocketChannel channel : idle) {
      channel.configureBlocking(false);
      ended += hasEnded(channel) ? 1 : 0;
    }
    long all = ended;
    assertTrue(ended >= OTHERS, () -> all + " idle connections have ended");
  }

  private static boolean hasEnded(SocketChannel channel) {
    try {
      return channel.read(ByteBuffer.allocate(1)) < 0;
    } catch (IOException reset) {
      return true;
    }
  }
}
