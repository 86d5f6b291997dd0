// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** The application behind a gateway: answers everything, and counts. Thread-safe. */
final class Shop implements AutoCloseable {
  static final String ANSWER = "the shop's answer";

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final HttpServer server;
  private final AtomicInteger calls = new AtomicInteger();
  private final Set<Integer> connections = ConcurrentHashMap.newKeySet();

  private Shop() throws IOException {
    this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  static Shop open() throws IOException {
    return new Shop();
  }

  private void answer(HttpExchange exchange) throws IOException {
    calls.incrementAndGet();
    connections.add(exchange.getRemoteAddress().getPort());
    exchange.getRequestBody().readAllBytes();
    byte[] body = ANSWER.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  int port() {
    return server.getAddress().getPort();
  }

  /** Returns how many calls have come. */
  int calls() {
    return calls.get();
  }

  /** Returns by how many connections they came. */
  int connections() {
    return connections.size();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
