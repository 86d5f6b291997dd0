// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.audit.bucket.DecisionJudge.Judgement;

/**
 * The effect of one step of a bucket's audit on the figures of the bucket's policy. Immutable.
 *
 * @param wronglyAdmitted number of decisions that admitted a call although the bucket, according to
 *     the records, had too few tokens
 * @param wronglyDenied number of decisions that denied a call although the bucket, according to the
 *     records, had enough tokens
 * @param driftTokens change of the difference between cache and records, in tokens
 * @param outageTokens change of the number of tokens that were admitted without the cache and that
 *     the cache has not charged yet
 * @param confirmedAfterMillis time in milliseconds from the oldest difference until this record
 *     confirmed the correction. Negative if the record confirmed no correction, or if the time is
 *     unknown
 */
public record AuditEffect(
    long wronglyAdmitted,
    long wronglyDenied,
    long driftTokens,
    long outageTokens,
    long confirmedAfterMillis) {
  private static final long NOT_CONFIRMED = -1;

  /** Returns the effect of a step that neither judged a decision nor confirmed a correction. */
  public static AuditEffect ofDifferences(long driftTokens, long outageTokens) {
    return new AuditEffect(0, 0, driftTokens, outageTokens, NOT_CONFIRMED);
  }

  /** Returns the effect of the gaps that a check found. */
  static AuditEffect ofGaps(long driftTokens, long wrongRefusals) {
    return new AuditEffect(0, wrongRefusals, driftTokens, 0, NOT_CONFIRMED);
  }

  /** Returns the effect of a judged decision. */
  static AuditEffect ofDecision(
      Judgement judgement, long driftTokens, long outageTokens, long confirmedAfterMillis) {
    return new AuditEffect(
        judgement == Judgement.WRONGLY_ADMITTED ? 1 : 0,
        judgement == Judgement.WRONGLY_DENIED ? 1 : 0,
        driftTokens,
        outageTokens,
        confirmedAfterMillis);
  }

  /** Returns whether the step does not change the figures of the policy. */
  public boolean isNothing() {
    return wronglyAdmitted == 0 && wronglyDenied == 0 && driftTokens == 0 && outageTokens == 0;
  }
}
