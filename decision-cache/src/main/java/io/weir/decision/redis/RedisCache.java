// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import java.util.function.ObjLongConsumer;

/**
 * A decision cache in Redis: in one server ({@link RedisDecisionCache}) or in the servers of a
 * cluster ({@link ClusterDecisionCache}). Thread-safe.
 */
public sealed interface RedisCache extends DecisionCache
    permits RedisDecisionCache, ClusterDecisionCache {
  /**
   * Starts the cache that the settings name. Waits for the first attempt to connect, not for its
   * success.
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
   * Sets the consumer of the servers' clocks. It is called about once a second for each server,
   * whether or not anything is decided, on a thread that must not be blocked. The time is already
   * in the past when it is passed.
   *
   * @param told receives a server's name and its time in microseconds since 1970
   */
  void onServerTime(ObjLongConsumer<String> told);

  /**
   * Returns why a server that was reached is not used: its mode, its version, or possible eviction.
   * Empty if all that were reached are used.
   */
  String refusal();

  /** Returns whether a server connected last may evict buckets. */
  EvictionCheck evictionCheck();

  /** Returns the tracker of this cache's state, which must not be used after this is closed. */
  CacheLife life();

  /**
   * Starts a corrector of this cache's buckets, with connections of its own. Must be closed before
   * this is.
   */
  BucketCorrector startCorrector();
}
