// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

/**
 * The outcome of a correction. Immutable.
 *
 * @param kind the kind of outcome
 * @param changeTokens number of tokens added (positive) or taken (negative), rounded toward zero;
 *     for a created bucket, the negated number of missing tokens
 * @param clamped whether the debt cap limited the number of taken tokens
 */
public record CorrectionOutcome(Kind kind, long changeTokens, boolean clamped) {

  /** Kinds of outcomes. */
  public enum Kind {
    /** The bucket was corrected. */
    APPLIED,
    /** The correction created the missing bucket. */
    CREATED,
    /** The cache had already applied this correction or a newer correction; nothing was changed. */
    STALE,
    /**
     * Nothing was changed: the bucket was missing, and it would be full by now, or its period has
     * ended.
     */
    FULL,
    /** The value of the key is not the state of a bucket; nothing was changed. */
    CORRUPT
  }
}
