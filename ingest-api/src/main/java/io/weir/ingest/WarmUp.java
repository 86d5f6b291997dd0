// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.decision.redis.RedisCache;
import io.weir.ingest.record.DecisionClock;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends peeks inside a starting node until the JVM has loaded the code that handles calls. Peeks
 * take no tokens, and the node does not record them. A failed peek has no effect on the node.
 */
final class WarmUp {
  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);

  /** Number of consecutive decisions after which the warm-up of the cache ends. */
  private static final int DECISIONS = 200;

  /** Number of consecutive requests without a reply after which the cache counts as unreachable. */
  private static final int TRIES = 3;

  private static final Duration CACHE_LIMIT = Duration.ofSeconds(2);

  /**
   * Number of peeks to the check API: the first two or three load the code; the others let the
   * compiler find hot code.
   */
  private static final int ROUTE_PEEKS = 50;

  private static final Duration ROUTE_LIMIT = Duration.ofSeconds(1);

  private static final byte[] BODY =
      "{\"client\":\"weir-warm-up\",\"endpoint\":\"-\"}".getBytes(StandardCharsets.UTF_8);

  private WarmUp() {}

  /**
   * Sends peeks to the decision cache. Ends early if the cache is unreachable or the peeks take
   * longer than 2 s. Without these peeks, the first callers would wait tens of milliseconds. The
   * replies also set the decision clock, so that the first low watermark follows the cache's clock.
   */
  static void ofCache(RedisCache cache, DecisionClock clock) {
    Check check =
        new Check(
            List.of(
                new BucketRequest(
                    BucketKey.of("warm-up", "warm-up").text(),
                    new TokenBucketLimit(1, 1, 1),
                    true)),
            1);
    long end = System.nanoTime() + CACHE_LIMIT.toNanos();
    int decided = 0;
    int undecided = 0;
    while (decided < DECISIONS && undecided < TRIES && System.nanoTime() < end) {
      Decision decision = cache.peek(check);
      if (decision instanceof Decision.Decided reply) {
        clock.observe(reply.decidedAtEpochMicros() / 1_000);
        decided++;
        undecided = 0;
      } else {
        decided = 0;
        boolean wasSent =
            decision instanceof Decision.Undecided none && none.cause() != Decision.Cause.REJECTED;
        undecided += wasSent ? 1 : 0;
      }
    }
  }

  /**
   * Sends {@value #ROUTE_PEEKS} peeks to the check API, or fewer if they take longer than one
   * second. Without these peeks, the first caller would wait about 0.1 s.
   *
   * @param tls whether the port uses TLS; if so, this method sends nothing
   * @param token the token of this process
   */
  static void ofCheckApi(String boundHost, int port, boolean tls, String token) {
    if (tls) {
      return; // the certificate may be invalid for this address
    }
    long end = System.nanoTime() + ROUTE_LIMIT.toNanos();
    try {
      InetAddress bound = InetAddress.getByName(boundHost);
      InetAddress address = bound.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : bound;
      URI uri =
          new URI("http", null, address.getHostAddress(), port, "/v1/check", "peek=true", null);
      for (int peek = 0; peek < ROUTE_PEEKS && System.nanoTime() < end; peek++) {
        peek(uri, token);
      }
    } catch (IOException | URISyntaxException failed) {
      LOG.debug("route_warm_up_ended", failed);
    }
  }

  private static void peek(URI uri, String token) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setConnectTimeout((int) ROUTE_LIMIT.toMillis());
    connection.setReadTimeout((int) ROUTE_LIMIT.toMillis());
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
