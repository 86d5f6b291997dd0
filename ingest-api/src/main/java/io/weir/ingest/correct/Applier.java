// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.topics.process.Backoff;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies a backlog to the cache step by step. A step applies a batch of corrections, or the
 * "restored" marker of a partition. An item without a reply from the cache stays in the backlog,
 * and the applier retries it after a pause. If some servers of the cache did not reply, only the
 * corrections of these servers wait. Independent of Kafka. Not thread-safe.
 */
final class Applier {
  /** First pause after a failure. A reconnection to Redis takes about half a second. */
  private static final long MIN_PAUSE_MILLIS = 100;

  /**
   * Maximum pause after a failure. The pause bounds the time until the applier notices that the
   * cache is available again.
   */
  private static final long MAX_PAUSE_MILLIS = 2_000;

  private static final Logger LOG = LoggerFactory.getLogger(Applier.class);

  private final BucketCorrector corrector;
  private final CacheLife life;
  private final CorrectionPace pace;
  private final CorrectionStatistics statistics;
  private final CorrectionStatus status;
  private final LocalClock clock;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private long notBeforeNanos;
  private long takeUpNanos;

  /** Creates an applier that has applied nothing. */
  Applier(
      BucketCorrector corrector,
      CacheLife life,
      int maxPerSecond,
      CorrectionStatistics statistics,
      CorrectionStatus status,
      LocalClock clock) {
    this.corrector = corrector;
    this.life = life;
    this.pace = new CorrectionPace(maxPerSecond, clock.nowNanos());
    this.statistics = statistics;
    this.status = status;
    this.clock = clock;
    this.notBeforeNanos = clock.nowNanos();
  }

  /**
   * Returns how long to wait before the next step, in nanoseconds; 0 or less if the step is due.
   */
  long waitNanos() {
    long nowNanos = clock.nowNanos();
    return Math.max(notBeforeNanos - nowNanos, pace.waitNanos(nowNanos));
  }

  /** Performs the next step if it is due. Blocks until the cache has replied. */
  void step(CorrectionBacklog backlog) {
    if (backlog.isEmpty() || waitNanos() > 0) {
      return;
    }
    if (backlog.hasDeferred() && clock.nowNanos() - takeUpNanos >= 0) {
      backlog.takeUpDeferred();
    }
    try {
      CorrectionBacklog.RestoredMessage message = backlog.nextRestored();
      if (message != null) {
        note(backlog, message);
      } else {
        List<BoundedCorrection> corrections = backlog.nextCorrections(pace.maxBatch());
        if (corrections.isEmpty()) {
          return; // all items are deferred
        }
        apply(backlog, corrections);
      }
      if (!backlog.hasDeferred()) {
        backoff.reset();
        status.ends(CorrectionStatus.Kind.CACHE);
      }
    } catch (CacheUnavailableException unavailable) {
      statistics.retries.increment();
      status.begins(CorrectionStatus.Kind.CACHE, String.valueOf(unavailable.getMessage()));
      notBeforeNanos = clock.nowNanos() + TimeUnit.MILLISECONDS.toNanos(backoff.failedMillis());
    }
    statistics.nowWaiting(backlog.size());
  }

  private void note(CorrectionBacklog backlog, CorrectionBacklog.RestoredMessage message)
      throws CacheUnavailableException {
    boolean warm;
    try {
      warm = life.noteRestored(message.restored());
    } catch (PartlyUnavailableException server) {
      backlog.answered(1, place -> false);
      deferred(server);
      return;
    }
    backlog.answered(1);
    statistics.restoredMessages.increment();
    LOG.info("partition_restored {} cache_warm={}", message.restored(), warm);
  }

  private void apply(CorrectionBacklog backlog, List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    pace.sent(corrections.size(), clock.nowNanos());
    try {
      List<CorrectionOutcome> outcomes = corrector.apply(corrections);
      if (outcomes.size() != corrections.size()) {
        throw new IllegalStateException(
            corrections.size() + " corrections got " + outcomes.size() + " outcomes");
      }
      note(corrections, outcomes);
      backlog.answered(corrections.size());
    } catch (PartlyUnavailableException some) {
      note(corrections, some.outcomes());
      backlog.answered(corrections.size(), place -> some.outcomes().get(place) != null);
      deferred(some);
    }
  }

  private void deferred(PartlyUnavailableException some) {
    statistics.retries.increment();
    status.begins(CorrectionStatus.Kind.CACHE, String.valueOf(some.getMessage()));
    takeUpNanos = clock.nowNanos() + TimeUnit.MILLISECONDS.toNanos(backoff.failedMillis());
  }

  private void note(
      List<BoundedCorrection> corrections, List<? extends @Nullable CorrectionOutcome> outcomes) {
    long nowEpochMillis = clock.nowEpochMillis();
    for (int i = 0; i < outcomes.size(); i++) {
      CorrectionOutcome outcome = outcomes.get(i);
      if (outcome == null) {
        continue;
      }
      statistics.answered(corrections.get(i).correction(), outcome, nowEpochMillis);
      if (outcome.kind() == Kind.CORRUPT) {
        LOG.debug("bucket_corrupt bucket={}", corrections.get(i).correction().bucket());
      }
    }
  }
}
