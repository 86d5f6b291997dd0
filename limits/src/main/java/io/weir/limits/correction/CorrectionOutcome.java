// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

/**
 * The outcome of a correction. Immutable.
 *
 * @param kind the kind of outcome
 * @param changeTokens number of tokens added (positive) or taken (negative), rounded toward zero;
 *     for a created bucket, the number of tokens that it lacks, as a negative number
 * @param clamped whether the debt cap limited the number of taken tokens
 */
public record CorrectionOutcome(Kind kind, long changeTokens, boolean clamped) {

  /** Kinds of outcomes. */
  public enum Kind {
    /** The bucket was corrected. */
    APPLIED,
    /** The bucket was missing, and the correction created it. */
    CREATED,
    /** This correction or a newer one was already applied; nothing was changed. */
    STALE,
    /**
     * The bucket was missing, and would be full by now, or its period has ended; nothing was
     * changed.
     */
    FULL,
    /** The value of the key is not the state of a bucket; nothing was changed. */
    CORRUPT
  }
}
