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
 * What a node has done since it started to keep the cache correct. Thread-safe.
 *
 * <p>Invariant: <b>read = outcomes of every kind + superseded + malformed + restored messages +
 * handed back + waiting</b>.
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

  /** Receives the age of each correction that changed a bucket. */
  public interface Ages {
    /**
     * Records the time since the oldest call that the correction accounts for was decided. Not
     * called for restored buckets.
     *
     * @param millis the age in milliseconds
     */
    void sinceDisturbed(long millis);

    /**
     * Records the time since the correction was computed.
     *
     * @param millis the age in milliseconds
     */
    void sinceComputed(long millis);
  }

  /**
   * Creates statistics at zero.
   *
   * @param ages receives the ages
   */
  public CorrectionStatistics(Ages ages) {
    this.ages = ages;
    for (Kind kind : Kind.values()) {
      outcomes.put(kind, new LongAdder());
    }
  }

  /** Returns the number of records read, without tombstones. */
  public long read() {
    return read.sum();
  }

  /** Returns the number of corrections with the given outcome. */
  public long outcomes(Kind kind) {
    LongAdder counted = outcomes.get(kind);
    return counted == null ? 0 : counted.sum();
  }

  /**
   * Returns the number of corrections left out because a newer one of the same bucket arrived with
   * them.
   */
  public long superseded() {
    return superseded.sum();
  }

  /** Returns the number of malformed records, which were skipped. */
  public long malformed() {
    return malformed.sum();
  }

  /** Returns the number of messages about restored partitions that the cache has stored. */
  public long restoredWords() {
    return restoredWords.sum();
  }

  /**
   * Returns the number of records abandoned unanswered because their partition moved; another node
   * reads them again.
   */
  public long handedBack() {
    return handedBack.sum();
  }

  /** Returns the number of corrections whose debit was limited by the debt cap. */
  public long clamped() {
    return clamped.sum();
  }

  /**
   * Returns the number of batches and messages sent to the cache again because it did not answer.
   */
  public long retries() {
    return retries.sum();
  }

  /** Returns the number of tokens that corrections returned to buckets. */
  public long tokensGiven() {
    return tokensGiven.sum();
  }

  /** Returns the number of tokens that corrections took from buckets. */
  public long tokensTaken() {
    return tokensTaken.sum();
  }

  /** Returns the number of losses of the cache's state that this node published. */
  public long restorationsBegun() {
    return restorationsBegun.sum();
  }

  /** Returns the number of losses that this node was elected to publish but could not. */
  public long restorationsAbandoned() {
    return restorationsAbandoned.sum();
  }

  /**
   * Returns the number of losses that this node published and after which it has seen the cache
   * warm again.
   */
  public long restorationsCompleted() {
    return restorationsCompleted.sum();
  }

  /** Returns the number of records read and not yet answered. */
  public int waiting() {
    return waiting;
  }

  /**
   * Returns the number of records of this node's partitions that are not applied yet, as of some
   * seconds ago.
   */
  public long lagRecords() {
    return lagRecords;
  }

  /** Returns the state that the cache last reported. */
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

  /** Returns whether all corrections of this node's partitions have been read and applied once. */
  public boolean wereReadToTheEnd() {
    return wereReadToTheEnd;
  }

  void readToTheEnd() {
    wereReadToTheEnd = true;
  }

  /** Returns how often the cache was asked for its state since it last answered. */
  public int looksUnanswered() {
    return looksUnanswered;
  }

  /** Records the cache's state after a check. Called by one thread only. */
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
