// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

/**
 * A correction and how far below zero it may take the bucket. Immutable.
 *
 * @param correction what to apply
 * @param debtCapTokens 0 to 2^53 − 1
 * @param takesOnly whether it gives a bucket nothing: it was carried over from another limit, and
 *     so is a bound only
 */
public record BoundedCorrection(Correction correction, long debtCapTokens, boolean takesOnly) {
  /** A correction that may take and give. */
  public BoundedCorrection(Correction correction, long debtCapTokens) {
    this(correction, debtCapTokens, false);
  }
}
