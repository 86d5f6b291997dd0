// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

/**
 * The reply for one bucket of a check.
 *
 * @param sufficient whether the bucket had enough tokens before the decision
 * @param remainingTokens number of whole tokens in the bucket after the decision; 0 to the capacity
 * @param resetMicros time until the bucket is full if no call takes tokens meanwhile; 0 if it is
 *     full
 * @param retryAfterMicros time until the bucket has enough tokens for the cost; 0 for enough
 *     tokens, −1 if the cost is above the capacity
 * @param epoch the bucket epoch; 0 if the bucket has never been charged
 * @param version version of the last correction of this epoch; 0 without a correction
 * @param chargedTokens number of tokens taken in this epoch, including this decision
 * @param charged whether this decision took the cost from the bucket
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
