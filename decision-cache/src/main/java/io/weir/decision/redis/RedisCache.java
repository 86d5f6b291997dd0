// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import java.util.function.ObjLongConsumer;

/**
 * A decision cache in Redis: on one server ({@link RedisDecisionCache}) or on the servers of a
 * cluster ({@link ClusterDecisionCache}). Thread-safe.
 */
public sealed interface RedisCache extends DecisionCache
    permits RedisDecisionCache, ClusterDecisionCache {
  /**
   * Starts the cache of the settings. Waits for the first attempt to connect, not for its success.
   *
   * @param registry receives the metrics of the cache
   * @throws IllegalArgumentException if the URI is not valid
   */
  static RedisCache start(RedisCacheConfig config, MeterRegistry registry) {
    return RedisAddress.of(config.uri()).isCluster()
        ? ClusterDecisionCache.start(config, registry)
        : RedisDecisionCache.start(config, registry);
  }

  /**
   * Sets the consumer of the servers' clocks. The cache calls it about once a second for each
   * server, even without decisions. The consumer must not block the thread. The time has already
   * passed at the call.
   *
   * @param consumer receives a server's name and its time in microseconds since 1970
   */
  void onServerTime(ObjLongConsumer<String> consumer);

  /**
   * Returns why a reached server is not used: its mode, its version, or possible eviction. Empty if
   * all reached servers are used.
   */
  String refusal();

  /** Returns whether a server may evict buckets, as of the last connection. */
  EvictionCheck evictionCheck();

  /** Returns the tracker of this cache's state. It must not be used after this cache is closed. */
  CacheLife life();

  /**
   * Starts a corrector of this cache's buckets with its own connections. The corrector must be
   * closed before this cache.
   */
  BucketCorrector startCorrector();
}
