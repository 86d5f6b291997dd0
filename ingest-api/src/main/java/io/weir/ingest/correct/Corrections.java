// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.policy.PolicySet;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Heals the decision cache, in two threads of its own: one applies the corrections of the
 * partitions this node has been given, one watches for a cache that lost its state. Needs neither
 * Kafka nor Redis to start, and goes on whatever becomes of them. Safe for threads.
 */
public final class Corrections implements AutoCloseable {
  /** A cache that is away is known by more than one answer that is late. */
  static final int LOOKS_AT_START = 3;

  private final CorrectionLoop loop;
  private final CacheWatch watch;
  private final Trouble trouble;
  private final CorrectionStatistics statistics;

  private Corrections(
      CorrectionLoop loop, CacheWatch watch, Trouble trouble, CorrectionStatistics statistics) {
    this.loop = loop;
    this.watch = watch;
    this.trouble = trouble;
    this.statistics = statistics;
  }

  /**
   * How it stands with corrections.
   *
   * @param ok whether they are read and the cache answers
   * @param detail what is wrong, or a word on the backlog
   */
  public record Health(boolean ok, String detail) {}

  /**
   * Made ready; nothing is done before {@link #start}.
   *
   * @param corrector applies; stays the caller's to close, after this
   * @param life tells about the cache's state; stays the caller's to close, after this
   * @param policies gives the policies in force, the same object until they change; for debt caps
   * @param cacheClockMillis the cache's clock as this node knows it
   * @param statistics is told what is done
   */
  public static Corrections of(
      CorrectionSettings settings,
      BucketCorrector corrector,
      CacheLife life,
      Supplier<PolicySet> policies,
      LongSupplier cacheClockMillis,
      CorrectionStatistics statistics) {
    LocalClock clock = LocalClock.ofSystem();
    Trouble trouble = new Trouble();
    CorrectionLoop loop =
        new CorrectionLoop(
            settings, corrector, life, new LimitsInForce(policies), statistics, trouble, clock);
    CacheWatch watch =
        new CacheWatch(life, new KafkaLossAnnouncer(settings), statistics, clock, cacheClockMillis);
    return new Corrections(loop, watch, trouble, statistics);
  }

  /** Starts both threads, once; does not block. */
  public void start() {
    loop.start();
    watch.start();
  }

  /** How it stands; cheap, repeatable. */
  public Health check() {
    return trouble.isNone()
        ? new Health(true, "lag_records=" + statistics.lagRecords())
        : new Health(false, trouble.detail());
  }

  /**
   * What a node that starts should still wait for, in words; empty when nothing. A cache that has
   * not answered {@value #LOOKS_AT_START} times is not waited for.
   */
  public String missingAtStart() {
    return switch (statistics.warmth()) {
      case COLD -> "the cache is not restored";
      case WARM -> statistics.wereReadToTheEnd() ? "" : "corrections are not read to their end";
      case UNKNOWN ->
          statistics.looksUnanswered() < LOOKS_AT_START ? "the cache has not answered yet" : "";
    };
  }

  /** Stops within some seconds; what is answered is committed. Repeating it does nothing. */
  @Override
  public void close() {
    watch.close();
    loop.close();
  }
}
