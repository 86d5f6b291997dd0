// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends peeks to the check API of a starting node until the JVM has loaded the code that handles
 * calls. Without these peeks, the first caller would wait about 0.1 s. Peeks take no tokens, and
 * the node does not record them. A failed peek has no effect on the node.
 */
final class RouteWarmUp {
  private static final Logger LOG = LoggerFactory.getLogger(RouteWarmUp.class);

  /**
   * Number of peeks: the first two or three load the code; the others let the compiler find hot
   * code.
   */
  private static final int PEEKS = 50;

  private static final Duration LIMIT = Duration.ofSeconds(1);

  private static final byte[] BODY =
      "{\"client\":\"weir-warm-up\",\"endpoint\":\"-\"}".getBytes(StandardCharsets.UTF_8);

  private RouteWarmUp() {}

  /**
   * Sends {@value #PEEKS} peeks, or fewer if they take longer than one second.
   *
   * @param tls whether the port uses TLS; if so, this method sends nothing
   * @param token the token of this process
   */
  static void run(String boundHost, int port, boolean tls, String token) {
    if (tls) {
      return; // the certificate may be invalid for this address
    }
    long end = System.nanoTime() + LIMIT.toNanos();
    try {
      InetAddress bound = InetAddress.getByName(boundHost);
      InetAddress address = bound.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : bound;
      URI uri =
          new URI("http", null, address.getHostAddress(), port, "/v1/check", "peek=true", null);
      for (int peek = 0; peek < PEEKS && System.nanoTime() < end; peek++) {
        peek(uri, token);
      }
    } catch (IOException | URISyntaxException failed) {
      LOG.debug("route_warm_up_ended", failed);
    }
  }

  private static void peek(URI uri, String token) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setConnectTimeout((int) LIMIT.toMillis());
    connection.setReadTimeout((int) LIMIT.toMillis());
    connection.setRequestMethod("POST");
    connection.setRequestProperty("Content-Type", "application/json");
    connection.setRequestProperty("Authorization", "Bearer " + token);
    connection.setDoOutput(true);
    try (OutputStream out = connection.getOutputStream()) {
      out.write(BODY);
    }
    boolean isAnswer = connection.getResponseCode() == HttpURLConnection.HTTP_OK;
    // read the whole body, so that the JVM reuses the connection
    try (InputStream in = isAnswer ? connection.getInputStream() : connection.getErrorStream()) {
      if (in != null) {
        in.transferTo(OutputStream.nullOutputStream());
      }
    }
  }
}
