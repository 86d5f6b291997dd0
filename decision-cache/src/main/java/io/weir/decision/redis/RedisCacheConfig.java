// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.Check;
import java.time.Duration;

/**
 * Settings of a {@link RedisDecisionCache}. Immutable.
 *
 * @param uri the server, {@code redis://[user:password@]host[:port][/database]} or {@code
 *     rediss://}; those of a cluster, separated by commas, or {@code redis-cluster://}; sentinels,
 *     {@code redis-sentinel://[user:password@]host[:port],…[/database]#name}. Must never be shown,
 *     see {@link #shownUri}
 * @param deadline longest time the server may take to answer a call; 1 ms to 1 min. Time in which
 *     this process could not read the answer does not count
 * @param patience longest time that a caller waits in total, including delays of this process,
 *     before it is rejected. At least the deadline, at most 1 h
 * @param queueCapacity maximum of single checks that wait to be sent, and of checks of batches;
 *     further ones are rejected. 1 to 1,000,000
 * @param maxBatchBuckets most buckets in the checks of one script call, which bounds how long a
 *     call occupies the server; a check with more buckets has a call of its own. 1 to {@value
 *     #MAX_BATCH_BUCKETS}
 * @param maxInFlight most script calls sent and not answered. Also bounds what a hung server may
 *     charge later without anyone waiting: maxInFlight × maxBatchBuckets checks. 1 to 64
 * @param stallTimeout a connection whose calls are not answered for this time is closed and
 *     replaced; longer than the deadline
 * @param connectTimeout longest time for making a connection, and for a start to wait for the first
 *     one
 * @param onEviction what to do with a server that may evict buckets
 * @param denyCacheAge how long a denial is repeated at most without asking the server, see {@link
 *     io.weir.decision.deny.DenyCache}; zero never, at most 1 min
 * @param access certificates and passwords that the URI does not hold
 */
public record RedisCacheConfig(
    String uri,
    Duration deadline,
    Duration patience,
    int queueCapacity,
    int maxBatchBuckets,
    int maxInFlight,
    Duration stallTimeout,
    Duration connectTimeout,
    OnEviction onEviction,
    Duration denyCacheAge,
    RedisAccess access) {
  /**
   * Upper end of {@code maxBatchBuckets}. A bucket takes a server some 10 to 20 µs, however buckets
   * are spread over checks, and a script call must take at most 2 ms, since all others wait for it.
   */
  public static final int MAX_BATCH_BUCKETS = 64;

  private static final int MAX_QUEUE_CAPACITY = 1_000_000;
  private static final int MAX_IN_FLIGHT = 64;

  /** What to do with a server whose {@code maxmemory-policy} may evict buckets. */
  public enum OnEviction {
    /** Do not use it: an evicted bucket is full again, and this would not be noticed. */
    REFUSE,
    /** Use it, and log a warning at every connection. */
    WARN
  }

  public RedisCacheConfig {
    if (access.hasFiles() && !RedisAddress.of(uri).isTls()) {
      throw new IllegalArgumentException("must begin with rediss if there are certificates");
    }
    RedisAddress.of(uri);
    requireRange("deadline", deadline, Duration.ofMillis(1), Duration.ofMinutes(1));
    requireRange("patience", patience, deadline, Duration.ofHours(1));
    requireRange("queue capacity", queueCapacity, MAX_QUEUE_CAPACITY);
    requireRange("max batch buckets", maxBatchBuckets, MAX_BATCH_BUCKETS);
    requireRange("max in flight", maxInFlight, MAX_IN_FLIGHT);
    requireRange(
        "stall timeout", stallTimeout, deadline.plus(Duration.ofMillis(1)), Duration.ofHours(1));
    requireRange("deny cache age", denyCacheAge, Duration.ZERO, Duration.ofMinutes(1));
    requireRange("connect timeout", connectTimeout, Duration.ofMillis(1), Duration.ofHours(1));
  }

  /**
   * Returns the defaults: deadline 250 ms, patience 1 s, queue of 4,096, batches of 64 buckets, 3
   * in flight, stall 1 s, connect 2 s, refuse eviction, no deny cache.
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
   * Returns these settings with another deadline; patience and stall timeout become at least twice
   * the deadline.
   */
  public RedisCacheConfig withDeadline(Duration other) {
    Duration least = other.multipliedBy(2);
    return new RedisCacheConfig(
        uri,
        other,
        longer(patience, least),
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

  /** Returns these settings with another patience. */
  public RedisCacheConfig withPatience(Duration other) {
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

  /** Returns these settings with another queue capacity, batch size and number in flight. */
  public RedisCacheConfig withQueue(int capacity, int batch, int inFlight) {
    return new RedisCacheConfig(
        uri,
        deadline,
        patience,
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
        patience,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stall,
        connect,
        onEviction,
        denyCacheAge,
        access);
  }

  /** Returns these settings with another reaction to eviction. */
  public RedisCacheConfig withOnEviction(OnEviction other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        patience,
        queueCapacity,
        maxBatchBuckets,
        maxInFlight,
        stallTimeout,
        connectTimeout,
        other,
        denyCacheAge,
        access);
  }

  /** Returns these settings with another greatest age of a denial that is repeated. */
  public RedisCacheConfig withDenyCacheAge(Duration other) {
    return new RedisCacheConfig(
        uri,
        deadline,
        patience,
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
        patience,
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
        "uri=%s deadline_ms=%d patience_ms=%d queue_capacity=%d max_batch_buckets=%d max_in_flight=%d stall_timeout_ms=%d"
            + " connect_timeout_ms=%d on_eviction=%s deny_cache_ms=%d max_buckets=%d %s",
        shownUri(),
        deadline.toMillis(),
        patience.toMillis(),
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
