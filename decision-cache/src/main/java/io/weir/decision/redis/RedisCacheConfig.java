// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.SocketOptions;
import io.weir.limits.check.Check;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Settings of a {@link RedisCache}. Immutable.
 *
 * @param uri address of a server, {@code redis://[user:password@]host[:port][/database]} or {@code
 *     rediss://}. A cluster has several servers, separated by commas, or the scheme {@code
 *     redis-cluster://}. Sentinels have the scheme {@code redis-sentinel://}, and {@code #name} at
 *     the end. The address may contain a password and must not be displayed; see {@link #shownUri}
 * @param deadline maximum time for the server's reply to a call; 1 ms to 1 min. Time in which this
 *     process could not read the reply does not count
 * @param callerTimeout maximum total time of a check, including delays of this process; at least
 *     the deadline, at most 1 h. After this time the check is rejected
 * @param queueCapacity maximum number of waiting single checks, and also of waiting checks of batch
 *     requests; 1 to 1,000,000. Checks above the maximum are rejected
 * @param maxBatchBuckets maximum number of buckets in one script call; 1 to {@value
 *     #MAX_BATCH_BUCKETS}. This maximum bounds the run time of the call. A check with more buckets
 *     is sent in a separate call
 * @param maxInFlight maximum number of script calls without a reply; 1 to 64. A server that hangs
 *     may charge at most maxInFlight × maxBatchBuckets checks after their timeouts
 * @param stallTimeout time without a reply after which a connection is closed and replaced; longer
 *     than the deadline
 * @param connectTimeout maximum time to connect, and maximum time that a start waits for the first
 *     connection
 * @param onEviction handling of a server that may evict buckets
 * @param denyCacheAge maximum age of a denial in the {@link io.weir.decision.deny.DenyCache}; at
 *     most 1 min, zero to cache no denials
 * @param access certificates and passwords in addition to the URI
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
   * Maximum value of {@code maxBatchBuckets}. A server needs about 10 to 20 µs per bucket; the
   * number of checks does not matter. A script call must take at most 2 ms, because all other calls
   * wait for its end.
   */
  public static final int MAX_BATCH_BUCKETS = 64;

  private static final int MAX_QUEUE_CAPACITY = 1_000_000;
  private static final int MAX_IN_FLIGHT = 64;

  /** Handling of a server with a {@code maxmemory-policy} that may evict buckets. */
  public enum OnEviction {
    /**
     * Do not use the server. An evicted bucket would be full again, and Weir could not detect this.
     */
    REFUSE,
    /** Use the server, and log a warning for each connection. */
    WARN
  }

  public RedisCacheConfig {
    if (access.hasFiles() && !RedisAddress.of(uri).isTls()) {
      throw new IllegalArgumentException("must begin with rediss because certificates are set");
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

  /** A builder of settings. A new builder has the default settings. */
  private static final class Builder {
    private final String uri;
    private Duration deadline = Duration.ofMillis(250);
    private Duration callerTimeout = Duration.ofSeconds(1);
    private int queueCapacity = 4_096;
    private int maxBatchBuckets = 64;
    private int maxInFlight = 3;
    private Duration stallTimeout = Duration.ofSeconds(1);
    private Duration connectTimeout = Duration.ofSeconds(2);
    private OnEviction onEviction = OnEviction.REFUSE;
    private Duration denyCacheAge = Duration.ZERO;
    private RedisAccess access = RedisAccess.NONE;

    Builder(String uri) {
      this.uri = uri;
    }

    RedisCacheConfig build() {
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
          access);
    }
  }

  /**
   * Returns the default settings. Times: deadline 250 ms, caller timeout 1 s, stall timeout 1 s,
   * connect timeout 2 s. Numbers: 4,096 waiting checks, 64 buckets per call, 3 calls in flight.
   * Servers that may evict are not used, and there is no deny cache.
   */
  public static RedisCacheConfig of(String uri) {
    return new Builder(uri).build();
  }

  private RedisCacheConfig with(Consumer<Builder> change) {
    Builder builder = new Builder(uri);
    builder.deadline = deadline;
    builder.callerTimeout = callerTimeout;
    builder.queueCapacity = queueCapacity;
    builder.maxBatchBuckets = maxBatchBuckets;
    builder.maxInFlight = maxInFlight;
    builder.stallTimeout = stallTimeout;
    builder.connectTimeout = connectTimeout;
    builder.onEviction = onEviction;
    builder.denyCacheAge = denyCacheAge;
    builder.access = access;
    change.accept(builder);
    return builder.build();
  }

  /**
   * Returns these settings with another deadline. A caller's timeout or stall timeout below twice
   * the deadline is raised to twice the deadline.
   */
  public RedisCacheConfig withDeadline(Duration other) {
    Duration least = other.multipliedBy(2);
    return with(
        builder -> {
          builder.deadline = other;
          builder.callerTimeout = longer(callerTimeout, least);
          builder.stallTimeout = longer(stallTimeout, least);
        });
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? other : one;
  }

  /** Returns these settings with another caller timeout. */
  public RedisCacheConfig withCallerTimeout(Duration other) {
    return with(builder -> builder.callerTimeout = other);
  }

  /**
   * Returns these settings with another queue capacity, number of buckets per call and number of
   * calls in flight.
   */
  public RedisCacheConfig withQueue(int capacity, int batch, int inFlight) {
    return with(
        builder -> {
          builder.queueCapacity = capacity;
          builder.maxBatchBuckets = batch;
          builder.maxInFlight = inFlight;
        });
  }

  /** Returns these settings with another stall timeout and connect timeout. */
  public RedisCacheConfig withConnectionTimeouts(Duration stall, Duration connect) {
    return with(
        builder -> {
          builder.stallTimeout = stall;
          builder.connectTimeout = connect;
        });
  }

  /** Returns these settings with another handling of eviction. */
  public RedisCacheConfig withOnEviction(OnEviction other) {
    return with(builder -> builder.onEviction = other);
  }

  /** Returns these settings with another maximum age of denials. */
  public RedisCacheConfig withDenyCacheAge(Duration other) {
    return with(builder -> builder.denyCacheAge = other);
  }

  /** Returns these settings with other certificates and passwords. */
  public RedisCacheConfig withAccess(RedisAccess other) {
    return with(builder -> builder.access = other);
  }

  /** Returns the options of all connections, for the client library. */
  ClientOptions clientOptions() {
    return ClientOptions.builder()
        .sslOptions(access.sslOptions())
        .autoReconnect(false)
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(maxInFlight * 4 + 16)
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        .socketOptions(
            SocketOptions.builder()
                .connectTimeout(connectTimeout)
                .tcpNoDelay(true)
                .keepAlive(true)
                .build())
        .build();
  }

  /** Returns the server's address without user and password. */
  public String shownUri() {
    return RedisAddress.of(uri).toString();
  }

  /** Returns the settings without user and password. */
  @Override
  public String toString() {
    return String.format(
        "uri=%s deadline_ms=%d caller_timeout_ms=%d queue_capacity=%d max_batch_buckets=%d"
            + " max_in_flight=%d stall_timeout_ms=%d connect_timeout_ms=%d on_eviction=%s"
            + " deny_cache_ms=%d max_buckets=%d %s",
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
      throw new IllegalArgumentException(
          what + " must be between 1 and " + max + ", but is " + value);
    }
  }

  private static void requireRange(String what, Duration value, Duration min, Duration max) {
    if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
      throw new IllegalArgumentException(
          what + " must be between " + min + " and " + max + ", but is " + value);
    }
  }
}
