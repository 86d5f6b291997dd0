// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * What a node has done to heal the cache since it started. Safe for threads.
 *
 * <p>Equation: <b>read = outcomes of every kind + superseded + malformed + restored words + handed
 * back + waiting</b>.
 */
public final class CorrectionStatistics {
  private final Ages ages;
  private final LongAdder read = new LongAdder();
  private final Map<Kind, LongAdder> outcomes = new EnumMap<>(Kind.class);
  private final LongAdder superseded = new LongAdder();
  private final LongAdder malformed = new LongAdder();
  private final LongAdder restoredWords = new LongAdder();
  private final LongAdder handedBack = new LongAdder();
  private final LongAdder clamped = new LongAdder();
  private final LongAdder retries = new LongAdder();
  private final LongAdder tokensGiven = new LongAdder();
  private final LongAdder tokensTaken = new LongAdder();
  private final LongAdder restorationsBegun = new LongAdder();
  private final LongAdder restorationsAbandoned = new LongAdder();
  private final LongAdder restorationsCompleted = new LongAdder();
  private volatile int waiting;
  private volatile long lagRecords;
  private volatile boolean wereReadToTheEnd;
  private volatile Warmth warmth = Warmth.UNKNOWN;
  private volatile int looksUnanswered;

  /** Takes the age of each correction that changed a bucket. */
  public interface Ages {
    /** Since the oldest call was decided that it makes good; not for restored buckets. */
    void sinceDisturbed(long millis);

    /** Since it was computed. */
    void sinceComputed(long millis);
  }

  /**
   * Statistics at zero.
   *
   * @param ages is told ages as they come
   */
  public CorrectionStatistics(Ages ages) {
    this.ages = ages;
    for (Kind kind : Kind.values()) {
      outcomes.put(kind, new LongAdder());
    }
  }

  /** Records read; tombstones are not among them. */
  public long read() {
    return read.sum();
  }

  /** Corrections that ended so. */
  public long outcomes(Kind kind) {
    LongAdder counted = outcomes.get(kind);
    return counted == null ? 0 : counted.sum();
  }

  /** Corrections left out since a newer one of their bucket came with them. */
  public long superseded() {
    return superseded.sum();
  }

  /** Records that could not be read as what they should be; they were skipped. */
  public long malformed() {
    return malformed.sum();
  }

  /** Words that a partition is restored, noted by the cache. */
  public long restoredWords() {
    return restoredWords.sum();
  }

  /** Records given up unanswered, since their partition moved; another node reads them again. */
  public long handedBack() {
    return handedBack.sum();
  }

  /** Corrections whose debit the debt cap cut. */
  public long clamped() {
    return clamped.sum();
  }

  /** Batches and words given to the cache again, since it did not answer. */
  public long retries() {
    return retries.sum();
  }

  /** Tokens that corrections gave back to buckets. */
  public long tokensGiven() {
    return tokensGiven.sum();
  }

  /** Tokens that corrections took from buckets. */
  public long tokensTaken() {
    return tokensTaken.sum();
  }

  /** Losses of the cache's state that this node announced. */
  public long restorationsBegun() {
    return restorationsBegun.sum();
  }

  /** Losses this node was to announce, but could not. */
  public long restorationsAbandoned() {
    return restorationsAbandoned.sum();
  }

  /** Losses this node announced, after which it has seen the cache warm again. */
  public long restorationsCompleted() {
    return restorationsCompleted.sum();
  }

  /** Records read and not answered yet. */
  public int waiting() {
    return waiting;
  }

  /** Records of this node's partitions that are not applied yet, as of some seconds ago. */
  public long lagRecords() {
    return lagRecords;
  }

  /** How the cache stood when it was last asked. */
  public Warmth warmth() {
    return warmth;
  }

  void wasRead() {
    read.increment();
  }

  void wasMalformed() {
    malformed.increment();
  }

  void wasSuperseded() {
    superseded.increment();
  }

  void wasRestored() {
    restoredWords.increment();
  }

  void wereHandedBack(int records) {
    handedBack.add(records);
  }

  void retried() {
    retries.increment();
  }

  void answered(Correction correction, CorrectionOutcome outcome, long nowEpochMillis) {
    LongAdder counted = outcomes.get(outcome.kind());
    if (counted != null) {
      counted.increment();
    }
    if (outcome.clamped()) {
      clamped.increment();
    }
    tokensGiven.add(Math.max(0, outcome.changeTokens()));
    tokensTaken.add(Math.max(0, -outcome.changeTokens()));
    boolean changed = outcome.kind() == Kind.APPLIED || outcome.kind() == Kind.CREATED;
    if (changed) {
      ages.sinceComputed(Math.max(0, nowEpochMillis - correction.asOfEpochMillis()));
    }
    if (changed && correction.cause() != Correction.Cause.RESTORE) {
      ages.sinceDisturbed(Math.max(0, nowEpochMillis - correction.disturbedAtEpochMillis()));
    }
  }

  void nowWaiting(int records) {
    waiting = records;
  }

  void lag(long records) {
    lagRecords = records;
  }

  /** Whether all corrections of this node's partitions were read and applied once. */
  public boolean wereReadToTheEnd() {
    return wereReadToTheEnd;
  }

  void readToTheEnd() {
    wereReadToTheEnd = true;
  }

  /** How often the cache was asked how it stands since it last answered. */
  public int looksUnanswered() {
    return looksUnanswered;
  }

  /** The cache was asked. One thread says so. */
  @SuppressWarnings("NonAtomicVolatileUpdate")
  void warmth(Warmth now) {
    looksUnanswered =
        now == Warmth.UNKNOWN ? Math.min(looksUnanswered + 1, Integer.MAX_VALUE - 1) : 0;
    warmth = now;
  }

  void restorationBegun() {
    restorationsBegun.increment();
  }

  void restorationAbandoned() {
    restorationsAbandoned.increment();
  }

  void restorationCompleted() {
    restorationsCompleted.increment();
  }
}
