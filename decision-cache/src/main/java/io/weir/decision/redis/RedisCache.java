// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import java.util.function.ObjLongConsumer;

/**
 * A decision cache in Redis, either on one server ({@link RedisDecisionCache}) or on the servers of
 * a cluster ({@link ClusterDecisionCache}). Thread-safe.
 */
public sealed interface RedisCache extends DecisionCache
    permits RedisDecisionCache, ClusterDecisionCache {
  /**
   * Starts the cache that the settings specify. Waits until the first attempt to connect has ended,
   * even if it has failed.
   *
   * @param registry registry for the metrics of the cache
   * @throws IllegalArgumentException if the URI is not valid
   */
  static RedisCache start(RedisCacheConfig config, MeterRegistry registry) {
    return RedisAddress.of(config.uri()).isCluster()
        ? ClusterDecisionCache.start(config, registry)
        : RedisDecisionCache.start(config, registry);
  }

  /**
   * Sets the consumer of the servers' times. The cache calls the consumer about once per second for
   * each server, even without decisions. The consumer must not block. The time is slightly old,
   * because the server read its clock before the cache called the consumer.
   *
   * @param consumer consumer of a server's name and its time in microseconds since 1970
   */
  void onServerTime(ObjLongConsumer<String> consumer);

  /**
   * Returns the reason why the cache does not use a server that has replied; empty if the cache
   * uses every server that has replied. Reasons are the server's mode, version or eviction policy,
   * or the permissions of the user.
   */
  String refusal();

  /** Returns whether a server may evict buckets, according to the server's last report. */
  EvictionCheck evictionCheck();

  /**
   * Returns the {@link CacheLife} of this cache. The returned object must not be used after this
   * cache is closed.
   */
  CacheLife life();

  /**
   * Starts a corrector of this cache's buckets with its own connections. The caller must close the
   * corrector before this cache.
   */
  BucketCorrector startCorrector();
}
