// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import io.weir.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

final class WarmUpTest {
  @Test
  void ofCheckApi_boundToAnyAddress_sendsPeeksOnly() throws Exception {
    Queue<String> asked = new ConcurrentLinkedQueue<>();
    HttpServer server = HttpServer.create(new InetSocketAddress(0), 0);
    server.createContext(
        "/",
        exchange -> {
          asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
          exchange.sendResponseHeaders(503, -1);
          exchange.close();
        });
    server.start();
    try {
      Await.until(
          "a request",
          () -> {
            WarmUp.ofCheckApi("0.0.0.0", server.getAddress().getPort(), false, "token");
            return !asked.isEmpty();
          });
    } finally {
      server.stop(0);
    }

    assertEquals(Set.of("POST /v1/check?peek=true"), Set.copyOf(asked));
  }

  @Test
  void ofCheckApi_noServer_ends() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    WarmUp.ofCheckApi("127.0.0.1", port, false, "token");
  }
}
