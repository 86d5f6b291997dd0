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
 * @param failureMode the decision if no node decides before the deadline
 * @param nodes base URLs of the nodes, at least one
 * @param token supplier of the bearer token; null for requests without a token
 * @param http HTTP client; null if {@link WeirClient} creates one
 * @param deadline maximum time until a node or the client decides a call
 * @param tryTimeout timeout of one try of a check; at most the deadline
 * @param settleDeadline maximum time until a settlement has a result
 * @param maxTries maximum number of tries of one request
 * @param batchLinger time that the first check of a batch waits for other checks; zero for no
 *     batches
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
  /** Maximum of all times: 10 minutes. A greater value is probably given in a wrong unit. */
  private static final Duration LONGEST = Duration.ofMinutes(10);

  private static final int MAX_BATCH = 1_000;

  WeirClientSettings {
    nodes = List.copyOf(nodes);
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException("nodes must have at least one URL, but is empty");
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
          "batchLinger must be at least zero and less than the deadline, "
              + deadline
              + ", but is "
              + batchLinger);
    }
    if (batchSize < 1 || batchSize > MAX_BATCH) {
      throw new IllegalArgumentException(
          "batchSize must be between 1 and " + MAX_BATCH + ", but is " + batchSize);
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
          "a node must be a URL such as http://host:8080, without a user and a query");
    }
  }

  /**
   * Requires that a time is positive and at most {@link #LONGEST}.
   *
   * @throws IllegalArgumentException if the time is not valid; the message begins with {@code what}
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
   * Returns the limits for the tries of a settlement. A try may take the whole time, because a
   * settlement waits until the call is counted.
   */
  Attempts.Bounds ofSettlements() {
    return new Attempts.Bounds(settleDeadline, settleDeadline, maxTries);
  }
}
