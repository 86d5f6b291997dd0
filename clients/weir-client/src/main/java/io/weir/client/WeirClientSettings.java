// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The validated settings of a client. Immutable.
 *
 * @param failureMode the decision when no node has decided in time
 * @param nodes base URLs of the nodes, at least one
 * @param token supplies the bearer token; null means none
 * @param http sends the requests; null means that the client creates its own
 * @param deadline time until a call is decided, by a node or by the client
 * @param tryTimeout timeout of one try of a check; at most the deadline
 * @param settleDeadline time until a settlement has a result
 * @param maxTries maximum number of tries of one request
 * @param batchLinger time that a check waits for others; zero means no batches
 * @param batchSize maximum number of checks in a batch
 * @param maxUnderWay maximum number of concurrent requests
 */
record WeirClientSettings(
    FailureMode failureMode,
    List<URI> nodes,
    @Nullable Supplier<String> token,
    @Nullable HttpClient http,
    Duration deadline,
    Duration tryTimeout,
    Duration settleDeadline,
    int maxTries,
    Duration batchLinger,
    int batchSize,
    int maxUnderWay) {
  /** Maximum of all times, so that a wrong unit is noticed. */
  private static final Duration LONGEST = Duration.ofMinutes(10);

  private static final int MAX_BATCH = 1_000;

  WeirClientSettings {
    nodes = List.copyOf(nodes);
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException("at least one node is required");
    }
    nodes.forEach(WeirClientSettings::requireNode);
    requireTime("deadline", deadline);
    requireTime("tryTimeout", tryTimeout);
    requireTime("settleDeadline", settleDeadline);
    if (tryTimeout.compareTo(deadline) > 0) {
      throw new IllegalArgumentException(
          "tryTimeout must be at most the deadline, " + deadline + ", but is " + tryTimeout);
    }
    requireAtLeastOne("maxTries", maxTries);
    requireAtLeastOne("maxUnderWay", maxUnderWay);
    if (batchLinger.isNegative() || batchLinger.compareTo(deadline) >= 0) {
      throw new IllegalArgumentException(
          "batchLinger must be zero or more and below the deadline, "
              + deadline
              + ", but is "
              + batchLinger);
    }
    if (batchSize < 1 || batchSize > MAX_BATCH) {
      throw new IllegalArgumentException(
          "batchSize must be 1 to " + MAX_BATCH + ", but is " + batchSize);
    }
  }

  private static void requireNode(URI node) {
    String scheme = String.valueOf(node.getScheme()).toLowerCase(Locale.ROOT);
    boolean isHttp = scheme.equals("http") || scheme.equals("https");
    if (!isHttp
        || node.getHost() == null
        || node.getRawQuery() != null
        || node.getRawFragment() != null
        || node.getRawUserInfo() != null) {
      throw new IllegalArgumentException(
          "a node must be a URL like http://host:8080, without a user or a query");
    }
  }

  /**
   * Refuses a time that is not positive, or that exceeds {@link #LONGEST}.
   *
   * @throws IllegalArgumentException if the time is refused; the message begins with {@code what}
   */
  static void requireTime(String what, Duration time) {
    if (time.isNegative() || time.isZero() || time.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          what + " must be greater than zero and at most " + LONGEST + ", but is " + time);
    }
  }

  private static void requireAtLeastOne(String what, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(what + " must be at least 1, but is " + value);
    }
  }

  boolean makesBatches() {
    return !batchLinger.isZero();
  }

  Attempts.Bounds ofChecks(Duration until) {
    return new Attempts.Bounds(until, tryTimeout, maxTries);
  }

  /**
   * Returns the limits of settlements. A settlement waits until the call is counted, so each try
   * may take the whole time.
   */
  Attempts.Bounds ofSettlements() {
    return new Attempts.Bounds(settleDeadline, settleDeadline, maxTries);
  }
}
