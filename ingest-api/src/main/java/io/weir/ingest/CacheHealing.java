// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.redis.RedisBucketCorrector;
import io.weir.decision.redis.RedisCacheLife;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.correct.CorrectionSettings;
import io.weir.ingest.correct.CorrectionStatistics;
import io.weir.ingest.correct.Corrections;
import io.weir.limits.policy.PolicySet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** What heals a node's decision cache, with its connections to Redis. Safe for threads. */
final class CacheHealing implements AutoCloseable {
  private final BucketCorrector corrector;
  private final CacheLife life;
  private final Corrections corrections;

  private CacheHealing(BucketCorrector corrector, CacheLife life, Corrections corrections) {
    this.corrector = corrector;
    this.life = life;
    this.corrections = corrections;
  }

  /** Connects to Redis, if it is there; nothing is healed before {@link #start}. */
  static CacheHealing of(
      IngestConfig config,
      RedisDecisionCache cache,
      Supplier<PolicySet> policies,
      LongSupplier cacheClockMillis,
      CorrectionStatistics statistics) {
    BucketCorrector corrector = RedisBucketCorrector.start(config.redis());
    CacheLife life = RedisCacheLife.of(cache);
    Corrections corrections =
        Corrections.of(
            new CorrectionSettings(config.node(), config.kafka(), config.correctionsMaxRate()),
            corrector,
            life,
            policies,
            cacheClockMillis,
            statistics);
    return new CacheHealing(corrector, life, corrections);
  }

  /** Begins to heal; needs neither Kafka nor Redis. */
  void start() {
    corrections.start();
  }

  /** What a node that starts should still wait for; empty when nothing. */
  String missingAtStart() {
    return corrections.missingAtStart();
  }

  Corrections.Health check() {
    return corrections.check();
  }

  /** Stops within some seconds; the cache, whose connection it uses, must be closed after this. */
  @Override
  public void close() {
    corrections.close();
    life.close();
    corrector.close();
  }
}
