// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.weir.testing.Await;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Tests keys of an issuer whose responses are invalid or slow. */
final class PublishedKeysTest {
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  /** Sends a byte every 200 ms until the client closes the connection. */
  private static void drip(HttpExchange exchange, AtomicBoolean isEnded) throws IOException {
    exchange.sendResponseHeaders(200, 0);
    try (OutputStream body = exchange.getResponseBody()) {
      while (!Thread.currentThread().isInterrupted()) {
        body.write(' ');
        body.flush();
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    } catch (IOException gone) {
      isEnded.set(true);
    }
  }

  /** A slow response must end. Otherwise no key would be fetched or revoked meanwhile. */
  @Test
  void issuerThatAnswersByteByByte_isGivenUp() throws Exception {
    AtomicBoolean isEnded = new AtomicBoolean();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    ExecutorService threads = Executors.newCachedThreadPool();
    server.setExecutor(threads);
    server.createContext("/keys", exchange -> drip(exchange, isEnded));
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
    try (PublishedKeys keys = PublishedKeys.open(new JwksPlace("KEYS", url), () -> {})) {
      Await.until("the answer is given up", isEnded::get);

      assertFalse(keys.isCurrent());
    } finally {
      server.stop(0);
      threads.shutdownNow();
    }
  }
}
