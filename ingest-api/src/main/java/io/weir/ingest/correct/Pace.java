// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import java.util.concurrent.TimeUnit;

/**
 * Holds a rate: virtual scheduling of the generic cell rate algorithm (ITU-T I.371). In any time t
 * it lets through at most {@code rate × (t + 50 ms)} and one batch. Not safe for threads.
 *
 * <p>Example: 1,000 a second, batches of 20. After a pause three batches may follow each other at
 * once, then one every 20 ms.
 */
final class Pace {
  /** Time that may be saved up; makes good for a loop that wakes late. */
  private static final long CREDIT_NANOS = 50_000_000;

  /** A batch takes a fiftieth of a second's share, so that no pause is longer than one of these. */
  private static final int BATCHES_PER_SECOND = 50;

  private final int perSecond;
  private long nextNanos;

  Pace(int perSecond, long nowNanos) {
    this.perSecond = perSecond;
    this.nextNanos = nowNanos;
  }

  /** Most at once. */
  int maxBatch() {
    return Math.max(1, Math.min(BucketCorrector.MAX_BATCH, perSecond / BATCHES_PER_SECOND));
  }

  /** How long to wait before the next batch; 0 or less when it may go now. */
  long waitNanos(long nowNanos) {
    return nextNanos - nowNanos;
  }

  /** Takes note of a batch. */
  void sent(int count, long nowNanos) {
    long earliest = nowNanos - CREDIT_NANOS;
    long from = nextNanos - earliest > 0 ? nextNanos : earliest;
    nextNanos = from + count * TimeUnit.SECONDS.toNanos(1) / perSecond;
  }
}
