// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.Check;
import java.time.Duration;

/**
 * Settings of a {@link RedisDecisionCache}. Immutable.
 *
 * @param uri the server, {@code redis://[user:password@]host[:port][/database]} or {@code
 *     rediss://}; or servers of a cluster, separated by commas, or {@code redis-cluster://}; or
 *     sentinels, {@code redis-sentinel://[user:password@]host[:port],…[/database]#name}. Must never
 *     be shown; see {@link #shownUri}
 * @param deadline maximum time for the server's reply to a call; 1 ms to 1 min. Time in which this
 *     process could not read the reply does not count
 * @param callerTimeout timeout of the caller: maximum total time, including delays of this process,
 *     before the check is rejected. At least the deadline, at most 1 h
 * @param queueCapacity maximum number of waiting single checks, and of waiting checks of batch
 *     requests; further checks are rejected. 1 to 1,000,000
 * @param maxBatchBuckets maximum number of buckets in the checks of one script call, which bounds
 *     how long a call occupies the server; a check with more buckets has its own call. 1 to {@value
 *     #MAX_BATCH_BUCKETS}
 * @param maxInFlight maximum number of script calls without a reply; 1 to 64. It also bounds the
 *     checks that a hung server may charge after their timeouts: maxInFlight × maxBatchBuckets
 * @param stallTimeout time without a reply after which a connection is closed and replaced; longer
 *     than the deadline
 * @param connectTimeout maximum time to connect, and for a start to wait for the first connection
 * @param onEviction handling of a server that may evict buckets
 * @param denyCacheAge maximum time for which a denial is repeated without a request to the server,
 *     see {@link io.weir.decision.deny.DenyCache}; zero for never, at most 1 min
 * @param access certificates and passwords that the URI does not contain
 */
public record RedisCacheConfig(
    String uri,
    Duration deadline,
    Duration callerTimeout,
    int queueCapacity,
    int maxBatchBuckets,
    int maxInFlight,
    Duration stallTimeout,
    Duration connectTimeout,
    OnEviction onEviction,
    Duration denyCacheAge,
    RedisAccess access) {
  /**
   * Upper bound of {@code maxBatchBuckets}. A bucket takes a server about 10 to 20 µs, however
   * buckets are spread over checks. A script call must take at most 2 ms, since all other calls
   * wait for it.
   */
  public static final int MAX_BATCH_BUCKETS = 64;

  private static final int MAX_QUEUE_CAPACITY = 1_000_000;
  private static final int MAX_IN_FLIGHT = 64;

  /** Handling of a server whose {@code maxmemory-policy} may evict buckets. */
  public enum OnEviction {
    /** Do not use the server: an evicted bucket is full again, and Weir would not notice it. */
    REFUSE,
    /** Use the server, and log a warning at every connection. */
    WARN
  }

  public RedisCacheConfig {
    if (access.hasFiles() && !RedisAddress.of(uri).isTls()) {
      throw new IllegalArgumentException("must begin with rediss if certificates are set");
    }
    RedisAddress.of(uri);
    requireRange("deadline", deadline, Duration.ofMillis(1), Duration.ofMinutes(1));
    requireRange("caller timeout", callerTimeout, deadline, Duration.ofHours(1));
    requireRange("queue capacity", queueCapacity, MAX_QUEUE_CAPACITY);
    requireRange("max batch buckets", maxBatchBuckets, MAX_BATCH_BUCKETS);
    requireRange("max in flight", maxInFlight, MAX_IN_FLIGHT);
    requireRange(
        "stall timeout", stallTimeout, deadline.plus(Duration.ofMillis(1)), Duration.ofHours(1));
    requireRange("deny cache age", denyCacheAge, Duration.ZERO, Duration.ofMinutes(1));
    requireRange("connect timeout", connectTimeout, Duration.ofMillis(1), Duration.ofHours(1));
  }

  /**
   * Returns the defaults: deadline 250 ms, timeout of the caller 1 s, queue of 4,096 checks,
   * batches of 64 buckets, 3 calls in flight, stall timeout 1 s, connect timeout 2 s, no server
   * that may evict, no deny cache.
   */
  public static RedisCacheConfig of(String uri) {
    return new RedisCacheConfig(
        uri,
        Duration.ofMillis(250),
        Duration.ofSeconds(1),
        4_096,
        64,
        3,
        Duration.ofSeconds(1),
        Duration.ofSeconds(2),
        OnEviction.REFUSE,
        Duration.ZERO,
        RedisAccess.NONE);
  }

  /**
   * Returns these settings with another deadline. The caller's timeout and the stall timeout become
   * at least twice the deadline.
   */
  public RedisCacheConfig withDeadline(Duration other) {
    Duration least = other.multipliedBy(2);
    return new RedisCacheConfig(
        uri,
        other,
        longer(callerTimeout, least),
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        longer(stallTimeout, least),
        connectTimeout,
        onEviction,
        denyCacheAge,
        access);
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? other : one;
  }

  /** Returns these settings with another timeout of the caller. */
  public RedisCacheConfig withCallerTimeout(Duration other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        other,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout,
        connectTimeout,
        onEviction,
        denyCacheAge,
        access);
  }

  /**
   * Returns these settings with another queue capacity, batch size and number of calls in flight.
   */
  public RedisCacheConfig withQueue(int capacity, int batch, int inFlight) {
    return new RedisCacheConfig(
        uri,
        deadline,
        callerTimeout,
        capacity,
        batch,
        inFlight,
        stallTimeout,
        connectTimeout,
        onEviction,
        denyCacheAge,
        access);
  }

  /** Returns these settings with other timeouts of the connection. */
  public RedisCacheConfig withConnectionTimeouts(Duration stall, Duration connect) {
    return new RedisCacheConfig(
        uri,
        deadline,
        callerTimeout,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stall,
        connect,
        onEviction,
        denyCacheAge,
        access);
  }

  /** Returns these settings with another handling of eviction. */
  public RedisCacheConfig withOnEviction(OnEviction other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        callerTimeout,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout,
        connectTimeout,
        other,
        denyCacheAge,
        access);
  }

  /** Returns these settings with another maximum age of a repeated denial. */
  public RedisCacheConfig withDenyCacheAge(Duration other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        callerTimeout,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout,
        connectTimeout,
        onEviction,
        other,
        access);
  }

  /** Returns these settings with other certificates and passwords. */
  public RedisCacheConfig withAccess(RedisAccess other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        callerTimeout,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout,
        connectTimeout,
        onEviction,
        denyCacheAge,
        other);
  }

  /** Returns the server's address without user and password. */
  public String shownUri() {
    return RedisAddress.of(uri).toString();
  }

  /** Returns the settings without user and password. */
  @Override
  public String toString() {
    return String.format(
        "uri=%s deadline_ms=%d caller_timeout_ms=%d queue_capacity=%d max_batch_buckets=%d max_in_flight=%d stall_timeout_ms=%d"
            + " connect_timeout_ms=%d on_eviction=%s deny_cache_ms=%d max_buckets=%d %s",
        shownUri(),
        deadline.toMillis(),
        callerTimeout.toMillis(),
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout.toMillis(),
        connectTimeout.toMillis(),
        onEviction,
        denyCacheAge.toMillis(),
        Check.MAX_BUCKETS,
        access);
  }

  private static void requireRange(String what, int value, int max) {
    if (value < 1 || value > max) {
      throw new IllegalArgumentException(what + " must be 1 to " + max + ", is " + value);
    }
  }

  private static void requireRange(String what, Duration value, Duration min, Duration max) {
    if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
      throw new IllegalArgumentException(what + " must be " + min + " to " + max + ", is " + value);
    }
  }
}
