// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.port.ConnectionLimit;
import io.weir.ingest.authz.AuthzSettings;
import io.weir.ingest.rls.RateLimitSettings;
import java.time.Duration;

/**
 * How the check API listens, and how many calls it accepts.
 *
 * @param host the address to bind
 * @param port the port; 0 takes any free port
 * @param virtualThreads whether requests run on virtual threads, which the JVM must support
 * @param maxCallsUnderWay most calls accepted and not yet answered, 1 to {@value
 *     #MAX_CALLS_UNDER_WAY}
 * @param adaptiveBound whether the bound on calls in progress follows how long they take, up to
 *     {@code maxCallsUnderWay}
 * @param queueDelayTarget how long calls may wait for a thread before some are shed, 0 to 10 s;
 *     zero disables shedding by delay
 * @param maxConnections most open connections, 1 to {@value #MAX_CONNECTIONS}; further ones wait to
 *     be accepted
 * @param keepAlive idle timeout of a connection, 1 s to 1 h; should be longer than that of load
 *     balancers, which would otherwise send a call on a connection that is being closed
 * @param maxUnreadBytes most bytes of answers that their callers have not read yet, see {@link
 *     UnreadAnswers}; 0 takes an eighth of the heap, at least 64 MiB
 * @param unknownMembers what to do with a body that has unknown members
 * @param limitHeaders which header fields tell callers of limits
 * @param authz how calls are taken from a gateway's header fields
 * @param rateLimits how Envoy's rate limit service is served
 */
public record HttpSettings(
    String host,
    int port,
    boolean virtualThreads,
    int maxCallsUnderWay,
    boolean adaptiveBound,
    Duration queueDelayTarget,
    int maxConnections,
    Duration keepAlive,
    long maxUnreadBytes,
    UnknownMembers unknownMembers,
    LimitHeaders limitHeaders,
    AuthzSettings authz,
    RateLimitSettings rateLimits) {
  /**
   * Default of {@code maxCallsUnderWay}. By Little's law N = λ·W: at 20,000 calls a second, more
   * than was measured of a node on two cores, 400 calls are in progress if each waits 20 ms for
   * Redis, and 2,000 if each is {@code acked} and waits 100 ms for Kafka. At that rate 2,000 calls
   * are a tenth of a second of work. While Kafka is unavailable, {@code acked} calls wait 5 s each,
   * and no bound makes them succeed; this one keeps the number of waiting calls small.
   */
  public static final int DEFAULT_CALLS_UNDER_WAY = 2_000;

  /** Upper bound of {@code maxCallsUnderWay}; each call in progress takes about 20 KB. */
  public static final int MAX_CALLS_UNDER_WAY = 100_000;

  /**
   * Most batches, settlements and large bodies in progress without virtual threads, since each has
   * one of the 250 threads; the others read connections and serve health and metrics.
   */
  public static final int MAX_CALLS_ON_PLATFORM_THREADS = 200;

  /**
   * Disabled: in every comparison the bound on calls in progress alone served more calls in time
   * (benchmarks/README.md).
   */
  public static final Duration DEFAULT_QUEUE_DELAY_TARGET = Duration.ZERO;

  /** Upper bound of {@code queueDelayTarget}. */
  public static final Duration MAX_QUEUE_DELAY_TARGET = Duration.ofSeconds(10);

  /** Default of {@code maxConnections}. */
  public static final int DEFAULT_CONNECTIONS = ConnectionLimit.DEFAULT_MAX_CONNECTIONS;

  /** Upper bound of {@code maxConnections}; each connection takes a file descriptor. */
  public static final int MAX_CONNECTIONS = ConnectionLimit.MOST_CONNECTIONS;

  /** Default of {@code keepAlive}; load balancers keep idle connections for 60 s. */
  public static final Duration DEFAULT_KEEP_ALIVE = Duration.ofSeconds(75);

  /** Lower bound of {@code keepAlive}. */
  public static final Duration MIN_KEEP_ALIVE = Duration.ofSeconds(1);

  /** Upper bound of {@code keepAlive}. */
  public static final Duration MAX_KEEP_ALIVE = Duration.ofHours(1);

  /** Upper bound of {@code maxUnreadBytes}. */
  public static final long MAX_UNREAD_BYTES = 1L << 40;

  private static final long LEAST_DEFAULT_UNREAD_BYTES = 64L << 20;

  private static final int UNREAD_PART_OF_HEAP = 8;

  /**
   * Validates the settings.
   *
   * @throws IllegalArgumentException if one is out of range
   */
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
    if (maxUnreadBytes < 0 || maxUnreadBytes > MAX_UNREAD_BYTES) {
      throw new IllegalArgumentException(
          "maxUnreadBytes must be 0 to " + MAX_UNREAD_BYTES + ", is " + maxUnreadBytes);
    }
  }

  /** Creates settings with the usual header fields, and without routes for gateways. */
  public HttpSettings(
      String host,
      int port,
      boolean virtualThreads,
      int maxCallsUnderWay,
      boolean adaptiveBound,
      Duration queueDelayTarget,
      int maxConnections,
      Duration keepAlive,
      long maxUnreadBytes,
      UnknownMembers unknownMembers) {
    this(
        host,
        port,
        virtualThreads,
        maxCallsUnderWay,
        adaptiveBound,
        queueDelayTarget,
        maxConnections,
        keepAlive,
        maxUnreadBytes,
        unknownMembers,
        LimitHeaders.DEFAULT,
        AuthzSettings.OFF,
        RateLimitSettings.OFF);
  }

  /** Returns the bound on bytes of answers that are not read, for a heap of a size. */
  long effectiveUnreadBytes(long maxHeapBytes) {
    return maxUnreadBytes > 0
        ? maxUnreadBytes
        : Math.max(LEAST_DEFAULT_UNREAD_BYTES, maxHeapBytes / UNREAD_PART_OF_HEAP);
  }

  /** Returns the bound on calls in progress that have a thread each, for the kind of threads. */
  int callsOnThreads() {
    return virtualThreads
        ? maxCallsUnderWay
        : Math.min(maxCallsUnderWay, MAX_CALLS_ON_PLATFORM_THREADS);
  }
}
