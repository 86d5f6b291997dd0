// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import java.util.concurrent.TimeUnit;

/**
 * A rate limiter for corrections that uses virtual scheduling, a form of the generic cell rate
 * algorithm (ITU-T I.371). In any time t the limiter admits at most {@code rate × (t + 50 ms)}
 * corrections plus one batch. Not thread-safe.
 *
 * <p>Example: the rate is 1,000 per second and a batch has 20 corrections. After a pause the
 * limiter admits three batches immediately, then one batch every 20 ms.
 */
final class CorrectionPace {
  /**
   * Maximum unused time that later batches can use. This credit compensates for a loop that wakes
   * up late.
   */
  private static final long CREDIT_NANOS = 50_000_000;

  /**
   * Number of batches per second at the full rate. This number bounds the pause between two
   * batches.
   */
  private static final int BATCHES_PER_SECOND = 50;

  private final int perSecond;
  private long nextNanos;

  CorrectionPace(int perSecond, long nowNanos) {
    this.perSecond = perSecond;
    this.nextNanos = nowNanos;
  }

  /** Returns the maximum size of a batch. */
  int maxBatch() {
    return Math.max(1, Math.min(BucketCorrector.MAX_BATCH, perSecond / BATCHES_PER_SECOND));
  }

  /**
   * Returns how long to wait before the next batch, in nanoseconds; 0 or less if the batch is due.
   */
  long waitNanos(long nowNanos) {
    return nextNanos - nowNanos;
  }

  /** Records that a batch was sent. */
  void sent(int count, long nowNanos) {
    long earliest = nowNanos - CREDIT_NANOS;
    long from = nextNanos - earliest > 0 ? nextNanos : earliest;
    nextNanos = from + count * TimeUnit.SECONDS.toNanos(1) / perSecond;
  }
}
