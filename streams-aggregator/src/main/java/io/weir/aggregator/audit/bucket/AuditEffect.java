// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * What a step of a bucket's audit changed in the figures of its policy. Immutable.
 *
 * @param wronglyAdmitted decisions found to have admitted a call that the true bucket did not hold
 * @param wronglyDenied decisions found to have refused a call that the true bucket held
 * @param driftTokens change of the tokens by which cache and records differ
 * @param outageTokens change of the tokens admitted without the cache and not yet in it
 * @param confirmedAfterMillis how long the newest correction was awaited until this record showed
 *     it as applied, in milliseconds; negative when the record did not, or when that is not known
 */
public record AuditEffect(
    long wronglyAdmitted,
    long wronglyDenied,
    long driftTokens,
    long outageTokens,
    long confirmedAfterMillis) {
  private static final long NOT_CONFIRMED = -1;

  /** Returns the effect of a step that judged nothing and confirmed nothing. */
  public static AuditEffect ofDifferences(long driftTokens, long outageTokens) {
    return new AuditEffect(0, 0, driftTokens, outageTokens, NOT_CONFIRMED);
  }

  /** Returns the effect of gaps that were found. */
  static AuditEffect ofGaps(long driftTokens, long wrongRefusals) {
    return new AuditEffect(0, wrongRefusals, driftTokens, 0, NOT_CONFIRMED);
  }

  /** Returns the effect of a decision that was judged. */
  static AuditEffect ofDecision(
      Judgement judgement, long driftTokens, long outageTokens, long confirmedAfterMillis) {
    return new AuditEffect(
        judgement == Judgement.WRONGLY_ADMITTED ? 1 : 0,
        judgement == Judgement.WRONGLY_DENIED ? 1 : 0,
        driftTokens,
        outageTokens,
        confirmedAfterMillis);
  }

  /** Returns whether the figures of the policy stay as they are. */
  public boolean isNothing() {
    return wronglyAdmitted == 0 && wronglyDenied == 0 && driftTokens == 0 && outageTokens == 0;
  }
}
