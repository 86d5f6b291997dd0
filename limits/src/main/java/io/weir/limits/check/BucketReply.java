// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

/**
 * What one bucket answered.
 *
 * @param sufficient whether it held the cost before the decision
 * @param remainingTokens whole tokens it holds after the decision, 0 to capacity
 * @param resetMicros time until it is full, if nothing is taken meanwhile; 0 when it is
 * @param retryAfterMicros time until it will hold the cost; 0 when it does, −1 when it never can
 *     because cost is above capacity
 * @param epoch this life of the bucket, see {@link io.weir.topics.model.Charge}; 0 when it has none
 *     because it has never been charged
 * @param version version of the last correction applied in this epoch, 0 when none was
 * @param chargedTokens tokens taken in this epoch after the decision
 * @param charged whether this decision took the cost from it
 */
public record BucketReply(
    boolean sufficient,
    long remainingTokens,
    long resetMicros,
    long retryAfterMicros,
    long epoch,
    long version,
    long chargedTokens,
    boolean charged) {}
