// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.redis.RedisCache;
import io.weir.ingest.correct.CorrectionSettings;
import io.weir.ingest.correct.Corrections;
import io.weir.limits.policy.PolicySet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The components of an ingest node that keep the decision cache correct: the cache watch, the
 * applier of corrections, and the connections to Redis. Thread-safe.
 */
final class CacheHealing implements AutoCloseable {
  private final BucketCorrector corrector;
  private final CacheLife life;
  private final Corrections corrections;

  private CacheHealing(BucketCorrector corrector, CacheLife life, Corrections corrections) {
    this.corrector = corrector;
    this.life = life;
    this.corrections = corrections;
  }

  /**
   * Creates the components, and connects to Redis if it is reachable. The components read and apply
   * corrections only after {@link #start}.
   */
  static CacheHealing of(
      IngestConfig config,
      RedisCache cache,
      Supplier<PolicySet> policies,
      LongSupplier cacheClockMillis,
      MeterRegistry registry) {
    BucketCorrector corrector = cache.startCorrector();
    CacheLife life = cache.life();
    Corrections corrections =
        Corrections.of(
            new CorrectionSettings(config.node(), config.kafka(), config.correctionsMaxRate()),
            corrector,
            life,
            policies,
            cacheClockMillis,
            registry);
    return new CacheHealing(corrector, life, corrections);
  }

  /** Starts the threads. Needs neither Kafka nor Redis. */
  void start() {
    corrections.start();
  }

  /**
   * Returns a text that names the condition for which a starting node still waits. Returns the
   * empty string if all conditions hold.
   */
  String missingAtStart() {
    return corrections.missingAtStart();
  }

  Corrections.Health check() {
    return corrections.check();
  }

  /**
   * Stops within some seconds. Close this object before the decision cache, because this object
   * uses the cache's connection.
   */
  @Override
  public void close() {
    corrections.close();
    life.close();
    corrector.close();
  }
}
