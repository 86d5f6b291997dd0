// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.policy.PolicySet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Keeps the decision cache correct with two threads. One thread applies the corrections of the
 * partitions assigned to this node. The second thread detects when the cache has lost its state.
 * Both threads start without Kafka and Redis, and continue after failures of Kafka or Redis.
 * Thread-safe.
 */
public final class Corrections implements AutoCloseable {
  /**
   * Number of consecutive checks without a reply after which a starting node treats the cache as
   * unreachable. A single late reply does not count as unreachable.
   */
  static final int LOOKS_AT_START = 3;

  private final CorrectionLoop loop;
  private final CacheWatch watch;
  private final CorrectionStatus status;
  private final CorrectionStatistics statistics;

  private Corrections(
      CorrectionLoop loop,
      CacheWatch watch,
      CorrectionStatus status,
      CorrectionStatistics statistics) {
    this.loop = loop;
    this.watch = watch;
    this.status = status;
    this.statistics = statistics;
  }

  /**
   * The health of the application of corrections.
   *
   * @param ok whether corrections are read and the cache replies
   * @param detail the problem, or a summary of the backlog
   */
  public record Health(boolean ok, String detail) {}

  /**
   * Creates an instance, which does nothing before {@link #start}.
   *
   * @param corrector applies corrections; the caller closes it after this instance
   * @param life reports the cache's state; the caller closes it after this instance
   * @param policies returns the policies in force, which define the debt caps; must return the same
   *     object until the policies change
   * @param cacheClockMillis returns this node's estimate of the cache's clock, in milliseconds
   *     since the epoch
   * @param registry receives the metrics of this object and of the Kafka consumer
   */
  public static Corrections of(
      CorrectionSettings settings,
      BucketCorrector corrector,
      CacheLife life,
      Supplier<PolicySet> policies,
      LongSupplier cacheClockMillis,
      MeterRegistry registry) {
    CorrectionStatistics statistics = new CorrectionStatistics(registry);
    LocalClock clock = LocalClock.ofSystem();
    CorrectionQueue queue =
        new CorrectionQueue(corrector, life, policies, settings.maxPerSecond(), statistics, clock);
    CorrectionLoop loop = new CorrectionLoop(settings, queue, statistics, clock, registry);
    CacheWatch watch =
        new CacheWatch(life, new KafkaLossAnnouncer(settings), statistics, clock, cacheClockMillis);
    return new Corrections(loop, watch, queue.status(), statistics);
  }

  /** Starts both threads. Must be called once; does not block. */
  public void start() {
    loop.start();
    watch.start();
  }

  /** Returns the current health. Cheap and repeatable. */
  public Health check() {
    return status.isWell()
        ? new Health(true, "lag_records=" + statistics.lagRecords())
        : new Health(false, status.detail());
  }

  /**
   * Returns a text that names the condition for which a starting node still waits. Returns the
   * empty string if all conditions hold. The node does not wait for a cache that did not reply to
   * {@value #LOOKS_AT_START} consecutive checks.
   */
  public String missingAtStart() {
    return switch (statistics.warmth()) {
      case COLD -> "the cache is not restored";
      case WARM -> statistics.wereReadToTheEnd() ? "" : "corrections are not completely read";
      case UNKNOWN ->
          statistics.looksUnanswered() < LOOKS_AT_START ? "the cache has not replied yet" : "";
    };
  }

  /**
   * Stops both threads within some seconds, and commits the position of all records to which the
   * cache has replied. Idempotent.
   */
  @Override
  public void close() {
    watch.close();
    loop.close();
  }
}
