// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

/**
 * What became of a correction. Immutable.
 *
 * @param kind what was done
 * @param changeTokens tokens given (positive) or taken (negative), rounded toward zero; of a bucket
 *     made anew what it lacks of its capacity, negative
 * @param clamped whether the debt cap cut the debit
 */
public record CorrectionOutcome(Kind kind, long changeTokens, boolean clamped) {

  /** Kinds of outcomes. */
  public enum Kind {
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
