// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The reports port has the bounds of the check port: connections, and the time of a head. */
@CoreSuite
final class ReportsPortIT {
  private static final int MAX_CONNECTIONS = 8;

  @TempDir static Path folder;

  private static Broker broker;
  private static Aggregator aggregator;

  @BeforeAll
  static void start() throws Exception {
    broker = new Broker(1);
    aggregator =
        Aggregator.start(
            AggregatorConfig.of(
                Map.of(
                    "WEIR_SINGLE_COPY",
                    "allow",
                    "WEIR_KAFKA",
                    broker.bootstrapServers(),
                    "WEIR_DATA",
                    folder.toString(),
                    "WEIR_REPORTS_PORT",
                    "0",
                    "WEIR_MAX_CONNECTIONS",
                    Integer.toString(MAX_CONNECTIONS),
                    "WEIR_INSTANCE",
                    "port")));
    Await.until("ready", aggregator::ready);
  }

  @AfterAll
  static void stop() {
    aggregator.close();
    broker.close();
  }

  private static Socket connect() throws IOException {
    return new Socket(InetAddress.getLoopbackAddress(), aggregator.reportsPort());
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Regression: the idle timer of a connection began again with each byte. */
  @Test
  void headThatArrivesByteByByte_isAnswered408AndClosed() throws Exception {
    try (Socket slow = connect()) {
      write(slow, "GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ");
      StringBuilder answer = new StringBuilder();
      Await.until(
          () -> "the end of the request, after: " + answer,
          () -> {
            try {
              write(slow, "a");
              while (slow.getInputStream().available() > 0) {
                answer.append((char) slow.getInputStream().read());
              }
              return answer.indexOf("request-too-slow") > 0;
            } catch (SocketException closed) {
              return true;
            }
          });
      // a byte that is sent after the answer resets the connection, which may discard the answer
      String read = answer.toString();
      assertTrue(read.isEmpty() || read.startsWith("HTTP/1.1 408 "), read);
      assertEquals(200, Reports.get(aggregator, "/health/live").statusCode());
      String metrics = Reports.get(aggregator, "/metrics").body();
      assertTrue(metrics.contains("weir_requests_timed_out_total{part=\"headers\"} 1.0"), metrics);
    }
  }

  /** Regression: idle connections took every file that the process may open. */
  @Test
  void moreConnectionsThanTheLimit_waitUntilIdleOnesAreClosed() throws Exception {
    List<Socket> sockets = new ArrayList<>();
    try {
      for (int i = 0; i < 3 * MAX_CONNECTIONS; i++) {
        sockets.add(connect());
      }
      Socket last = sockets.get(sockets.size() - 1);
      write(last, "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      // the maximum number of connections is accepted at once, and they end after two seconds
      // without a request
      String answer = new String(last.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }
}
