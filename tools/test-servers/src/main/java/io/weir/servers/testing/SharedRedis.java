// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The Redis server that the tests of this JVM share. One test at a time borrows the server. After
 * each use, this class deletes all keys and scripts. Thread-safe.
 */
final class SharedRedis {
  private static final List<String> EMPTY = List.of("FLUSHALL", "SCRIPT FLUSH", "CONFIG RESETSTAT");

  private static @Nullable TestRedis server;
  private static TestRedis.@Nullable Borrowed lent;

  private SharedRedis() {}

  static synchronized TestRedis lend() {
    if (lent != null) {
      throw new IllegalStateException(
          "another test has borrowed the shared Redis server, and must close it first");
    }
    TestRedis running = server;
    if (running == null) {
      running = TestRedis.start();
      server = running;
      Runtime.getRuntime().addShutdownHook(new Thread(running::close, "shared-redis-stop"));
    } else {
      empty(URI.create(running.uri()));
    }
    TestRedis.Borrowed borrowed = new TestRedis.Borrowed(running);
    lent = borrowed;
    return borrowed;
  }

  static synchronized void takeBack(TestRedis.Borrowed borrowed) {
    if (lent == borrowed) {
      lent = null;
    }
  }

  private static void empty(URI address) {
    try (Socket socket = new Socket(address.getHost(), address.getPort());
        BufferedReader replies =
            new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
      for (String command : EMPTY) {
        socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.UTF_8));
        String reply = replies.readLine();
        if (!"+OK".equals(reply)) {
          throw new IllegalStateException(
              "the shared Redis server replied to " + command + " " + "with " + reply);
        }
      }
    } catch (IOException failed) {
      throw new UncheckedIOException("the shared Redis server cannot be emptied", failed);
    }
  }
}
