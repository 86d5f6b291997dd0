// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

/**
 * A correction and the maximum debt that it may cause. Immutable.
 *
 * @param correction the correction to apply
 * @param debtCapTokens maximum debt, in tokens below zero; 0 to 2^53 − 1
 * @param takesOnly true if the correction must not add tokens, because the correction was computed
 *     for another limit and its level is only a bound
 */
public record BoundedCorrection(Correction correction, long debtCapTokens, boolean takesOnly) {
  /** Creates a correction that may both add and take tokens. */
  public BoundedCorrection(Correction correction, long debtCapTokens) {
    this(correction, debtCapTokens, false);
  }
}
