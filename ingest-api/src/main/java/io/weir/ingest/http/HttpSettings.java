// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.time.Duration;

/**
 * How the check API listens, and how much it takes in.
 *
 * @param host the address to bind
 * @param port the port; 0 takes any free one
 * @param virtualThreads whether requests run on virtual threads, which the JVM must have
 * @param maxCallsUnderWay most calls taken in and not answered, 1 to {@value #MAX_CALLS_UNDER_WAY};
 *     without virtual threads at most {@value #MAX_CALLS_ON_PLATFORM_THREADS} are
 * @param queueDelayTarget how long calls may wait for a thread before some are shed, 0 to 10 s;
 *     zero sheds none for that
 * @param maxConnections most open connections, 1 to {@value #MAX_CONNECTIONS}; more wait to be
 *     accepted
 * @param keepAlive how long a connection without a request is kept, 1 s to 1 h; longer than
 *     balancers keep theirs, which else send a call on one that ends
 * @param unknownMembers what becomes of a body with members that are not known
 */
public record HttpSettings(
    String host,
    int port,
    boolean virtualThreads,
    int maxCallsUnderWay,
    Duration queueDelayTarget,
    int maxConnections,
    Duration keepAlive,
    UnknownMembers unknownMembers) {
  /**
   * By Little's law N = λ·W: at 20,000 calls a second, more than was measured of a node on two
   * cores, calls that all wait their 20 ms for Redis are 400, and those of {@code acked} at 100 ms
   * to Kafka are 2,000. Served at that pace 2,000 are a tenth of a second of work. When Kafka
   * stands still, {@code acked} calls wait 5 s each, and no bound makes them succeed; this one
   * keeps those who wait few.
   */
  public static final int DEFAULT_CALLS_UNDER_WAY = 2_000;

  /** Greatest setting; each call under way takes some 20 KB. */
  public static final int MAX_CALLS_UNDER_WAY = 100_000;

  /** Of the 250 threads there are then; the others read connections and tell health and metrics. */
  public static final int MAX_CALLS_ON_PLATFORM_THREADS = 200;

  /**
   * Never: in every comparison that was made the bound on calls under way alone served more in time
   * (benchmarks/README.md).
   */
  public static final Duration DEFAULT_QUEUE_DELAY_TARGET = Duration.ZERO;

  /** Longest target. */
  public static final Duration MAX_QUEUE_DELAY_TARGET = Duration.ofSeconds(10);

  /** Default bound on connections. */
  public static final int DEFAULT_CONNECTIONS = 10_000;

  /** Greatest bound on connections: each takes a file descriptor. */
  public static final int MAX_CONNECTIONS = 1_000_000;

  /** Default of {@code keepAlive}; balancers keep idle connections for 60 s. */
  public static final Duration DEFAULT_KEEP_ALIVE = Duration.ofSeconds(75);

  /** Shortest {@code keepAlive}. */
  public static final Duration MIN_KEEP_ALIVE = Duration.ofSeconds(1);

  /** Longest {@code keepAlive}. */
  public static final Duration MAX_KEEP_ALIVE = Duration.ofHours(1);

  /** Refuses settings out of range. */
  public HttpSettings {
    if (maxCallsUnderWay < 1 || maxCallsUnderWay > MAX_CALLS_UNDER_WAY) {
      throw new IllegalArgumentException(
          "maxCallsUnderWay must be 1 to " + MAX_CALLS_UNDER_WAY + ", is " + maxCallsUnderWay);
    }
    if (queueDelayTarget.isNegative() || queueDelayTarget.compareTo(MAX_QUEUE_DELAY_TARGET) > 0) {
      throw new IllegalArgumentException(
          "queueDelayTarget must be 0 to " + MAX_QUEUE_DELAY_TARGET + ", is " + queueDelayTarget);
    }
    if (maxConnections < 1 || maxConnections > MAX_CONNECTIONS) {
      throw new IllegalArgumentException(
          "maxConnections must be 1 to " + MAX_CONNECTIONS + ", is " + maxConnections);
    }
    if (keepAlive.compareTo(MIN_KEEP_ALIVE) < 0 || keepAlive.compareTo(MAX_KEEP_ALIVE) > 0) {
      throw new IllegalArgumentException(
          "keepAlive must be " + MIN_KEEP_ALIVE + " to " + MAX_KEEP_ALIVE + ", is " + keepAlive);
    }
  }

  /** Most calls under way on the threads there are. */
  int effectiveCallsUnderWay() {
    return virtualThreads
        ? maxCallsUnderWay
        : Math.min(maxCallsUnderWay, MAX_CALLS_ON_PLATFORM_THREADS);
  }
}
