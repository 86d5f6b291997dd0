// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.port.ConnectionLimit;
import io.weir.ingest.authz.AuthzSettings;
import io.weir.ingest.rls.RateLimitSettings;
import java.time.Duration;

/**
 * The settings of the check API's server: its address, threads, limits and header fields.
 *
 * @param host the address to bind
 * @param port the port; 0 for any free port
 * @param virtualThreads whether requests run on virtual threads; the JVM must support them
 * @param maxCallsUnderWay maximum number of calls in progress, 1 to {@value #MAX_CALLS_UNDER_WAY}
 * @param adaptiveBound whether the bound on calls in progress adapts to their latency, up to {@code
 *     maxCallsUnderWay}
 * @param queueDelayTarget wait of calls for a thread, 0 to 10 s; if calls wait longer, some calls
 *     are shed; 0 disables this shedding
 * @param maxConnections maximum number of open connections, 1 to {@value #MAX_CONNECTIONS}; further
 *     connections wait to be accepted
 * @param keepAlive idle timeout of a connection, 1 s to 1 h. Should be longer than the idle timeout
 *     of load balancers; otherwise a load balancer may send a call on a connection that Weir closes
 * @param maxUnreadBytes maximum number of bytes of {@linkplain UnreadAnswers unread responses}; 0
 *     for an eighth of the heap, but at least 64 MiB
 * @param unknownMembers the treatment of bodies with unknown members
 * @param limitHeaders the header fields that report limits to callers
 * @param authz the rules that derive calls from a gateway's header fields
 * @param rateLimits the settings of Envoy's rate limit service
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
   * Default of {@code maxCallsUnderWay}, derived from Little's law N = λ·W. The measured maximum of
   * a node on two cores is below 20,000 calls a second. At this rate 400 calls are in progress if
   * each call waits 20 ms for Redis. If each call waits 100 ms for Kafka ({@code acked}), 2,000
   * calls are in progress. While Kafka is unavailable, each {@code acked} call waits 5 s and fails;
   * a higher bound would only increase the number of waiting calls.
   */
  public static final int DEFAULT_CALLS_UNDER_WAY = 2_000;

  /** Upper bound of {@code maxCallsUnderWay}; each call in progress takes about 20 KB. */
  public static final int MAX_CALLS_UNDER_WAY = 100_000;

  /**
   * Maximum number of batches, settlements and large bodies in progress without virtual threads.
   * Each of these requests occupies one of the 250 threads. The other threads read connections and
   * serve health and metrics.
   */
  public static final int MAX_CALLS_ON_PLATFORM_THREADS = 200;

  /**
   * Default of {@code queueDelayTarget}, which disables shedding by delay. In every benchmark, the
   * node served more calls in time without shedding by delay than with it
   * (tools/benchmarks/README.md).
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
   * @throws IllegalArgumentException if a setting is out of range
   */
  public HttpSettings {
    requireRange("maxCallsUnderWay", maxCallsUnderWay, 1, MAX_CALLS_UNDER_WAY);
    requireRange("queueDelayTarget", queueDelayTarget, Duration.ZERO, MAX_QUEUE_DELAY_TARGET);
    requireRange("maxConnections", maxConnections, 1, MAX_CONNECTIONS);
    requireRange("keepAlive", keepAlive, MIN_KEEP_ALIVE, MAX_KEEP_ALIVE);
    requireRange("maxUnreadBytes", maxUnreadBytes, 0L, MAX_UNREAD_BYTES);
  }

  private static <T extends Comparable<T>> void requireRange(String name, T value, T min, T max) {
    if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
      throw new IllegalArgumentException(
          name + " must be " + min + " to " + max + ", but is " + value);
    }
  }

  /** Returns the bound on the bytes of unread responses, for the given heap size. */
  long effectiveUnreadBytes(long maxHeapBytes) {
    return maxUnreadBytes > 0
        ? maxUnreadBytes
        : Math.max(LEAST_DEFAULT_UNREAD_BYTES, maxHeapBytes / UNREAD_PART_OF_HEAP);
  }

  /**
   * Returns the maximum number of calls in progress that occupy a thread, for the configured kind
   * of threads.
   */
  int callsOnThreads() {
    return virtualThreads
        ? maxCallsUnderWay
        : Math.min(maxCallsUnderWay, MAX_CALLS_ON_PLATFORM_THREADS);
  }
}
