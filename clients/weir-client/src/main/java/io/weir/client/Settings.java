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
 * The settings of a client, which are valid together. Immutable.
 *
 * @param failureMode what is decided when no node has decided in time
 * @param nodes addresses of the nodes, at least one
 * @param token gives the bearer token; null means none
 * @param http sends the requests; null means one of the client's own
 * @param deadline until a call is decided, by a node or else by the client
 * @param tryTimeout how long one try of a check waits; at most the deadline
 * @param settleDeadline until a settlement is answered
 * @param maxTries most tries of one request
 * @param batchLinger how long a check waits for others; zero means that no batches are made
 * @param batchSize most checks in a batch
 * @param maxUnderWay most requests that are not answered yet
 */
record Settings(
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
  /** Longest of all times, so that a wrong unit is noticed. */
  private static final Duration LONGEST = Duration.ofMinutes(10);

  private static final int MAX_BATCH = 1_000;

  Settings {
    nodes = List.copyOf(nodes);
    if (nodes.isEmpty()) {
      throw new IllegalArgumentException("at least one node is needed");
    }
    nodes.forEach(Settings::requireNode);
    requireTime("deadline", deadline);
    requireTime("tryTimeout", tryTimeout);
    requireTime("settleDeadline", settleDeadline);
    if (tryTimeout.compareTo(deadline) > 0) {
      throw new IllegalArgumentException(
          "tryTimeout must be at most the deadline, " + deadline + ", is " + tryTimeout);
    }
    requireAtLeastOne("maxTries", maxTries);
    requireAtLeastOne("maxUnderWay", maxUnderWay);
    if (batchLinger.isNegative() || batchLinger.compareTo(deadline) >= 0) {
      throw new IllegalArgumentException(
          "batchLinger must be zero or more and below the deadline, "
              + deadline
              + ", is "
              + batchLinger);
    }
    if (batchSize < 1 || batchSize > MAX_BATCH) {
      throw new IllegalArgumentException(
          "batchSize must be 1 to " + MAX_BATCH + ", is " + batchSize);
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
          "a node must be an address like http://host:8080, without a user or a query");
    }
  }

  /**
   * Refuses a time that is not above zero, or is too long to be meant.
   *
   * @throws IllegalArgumentException if it is so; it begins with what the time is called
   */
  static void requireTime(String what, Duration time) {
    if (time.isNegative() || time.isZero() || time.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(
          what + " must be above zero and at most " + LONGEST + ", is " + time);
    }
  }

  private static void requireAtLeastOne(String what, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(what + " must be at least 1, is " + value);
    }
  }

  boolean makesBatches() {
    return !batchLinger.isZero();
  }

  Attempts.Bounds ofChecks(Duration until) {
    return new Attempts.Bounds(until, tryTimeout, maxTries);
  }

  /** A settlement waits for the counting, so each of its tries may take all of its time. */
  Attempts.Bounds ofSettlements() {
    return new Attempts.Bounds(settleDeadline, settleDeadline, maxTries);
  }
}
