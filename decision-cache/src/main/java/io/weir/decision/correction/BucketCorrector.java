// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.topics.model.Correction;
import java.util.List;

/**
 * Applies corrections to the buckets of a decision cache, each at most once. Safe for threads, and
 * for any number of correctors over one cache.
 */
public interface BucketCorrector extends AutoCloseable {
  /** Most corrections in one call. */
  int MAX_BATCH = 64;

  /**
   * Applies corrections in their order; blocks until the cache has answered for all of them.
   *
   * @param corrections 1 to {@value #MAX_BATCH}
   * @return one outcome each, in order
   * @throws IllegalArgumentException when there are none or too many
   * @throws CacheUnavailableException when the cache did not answer: some, all or none may have
   *     been applied, and all may be given again
   */
  List<Outcome> apply(List<Bounded> corrections) throws CacheUnavailableException;

  @Override
  void close();

  /** Gives the corrections back when there are as many as one call takes. */
  static List<Bounded> requireBatch(List<Bounded> corrections) {
    if (corrections.isEmpty() || corrections.size() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "a call takes 1 to " + MAX_BATCH + " corrections, not " + corrections.size());
    }
    return corrections;
  }

  /**
   * A correction and how far below zero it may take the bucket.
   *
   * @param correction what to apply
   * @param debtCapTokens 0 to 2^53 − 1
   * @param takesOnly whether it gives a bucket nothing: it was carried over from another limit, and
   *     so is a bound only
   */
  record Bounded(Correction correction, long debtCapTokens, boolean takesOnly) {
    /** A correction that may take and give. */
    public Bounded(Correction correction, long debtCapTokens) {
      this(correction, debtCapTokens, false);
    }
  }

  /**
   * What became of a correction.
   *
   * @param kind what was done
   * @param changeTokens tokens given (positive) or taken (negative), rounded toward zero; of a
   *     bucket made anew what it lacks of its capacity, negative
   * @param clamped whether the debt cap cut the debit
   */
  record Outcome(Kind kind, long changeTokens, boolean clamped) {}

  /** Kinds of outcomes. */
  enum Kind {
    /** The bucket was set right. */
    APPLIED,
    /** The bucket was gone and was made anew. */
    CREATED,
    /** The cache has this or a newer one already; nothing was changed. */
    STALE,
    /** The bucket was gone, and by now it would be full (or its period is over): nothing to do. */
    FULL,
    /** What is kept under the key is not a bucket's state; it was left alone. */
    CORRUPT
  }
}
