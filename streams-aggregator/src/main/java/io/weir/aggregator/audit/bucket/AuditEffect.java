// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The change that one step of a bucket's audit makes to the figures of its policy. Immutable.
 *
 * @param wronglyAdmitted number of decisions that admitted a call whose cost exceeded the tokens of
 *     the true bucket
 * @param wronglyDenied number of decisions that denied a call although the true bucket held its
 *     cost
 * @param driftTokens change of the number of tokens by which cache and records differ
 * @param outageTokens change of the number of tokens admitted without the cache and not yet charged
 *     in it
 * @param confirmedAfterMillis time from the oldest disturbance until this record confirmed its
 *     correction, in milliseconds; negative if the record confirmed none, or if the time is unknown
 */
public record AuditEffect(
    long wronglyAdmitted,
    long wronglyDenied,
    long driftTokens,
    long outageTokens,
    long confirmedAfterMillis) {
  private static final long NOT_CONFIRMED = -1;

  /** Returns the effect of a step that judged no decision and confirmed no correction. */
  public static AuditEffect ofDifferences(long driftTokens, long outageTokens) {
    return new AuditEffect(0, 0, driftTokens, outageTokens, NOT_CONFIRMED);
  }

  /** Returns the effect of gaps found by a check. */
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

  /** Returns whether the figures of the policy do not change. */
  public boolean isNothing() {
    return wronglyAdmitted == 0 && wronglyDenied == 0 && driftTokens == 0 && outageTokens == 0;
  }
}
