// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketLimit;

/**
 * One bucket of a check.
 *
 * @param bucket the bucket's key in the cache
 * @param limit the bucket's capacity and refill
 * @param enforced whether the bucket denies the call if the bucket has too few tokens for the cost.
 *     A bucket that is not enforced (shadow) never denies a call; an allowed call charges such a
 *     bucket if the bucket has enough tokens
 * @param held true if the bucket must not decide until the cache is restored; before that, the
 *     check is undecided ({@link Decision.Cause#COLD})
 */
public record BucketRequest(String bucket, BucketLimit limit, boolean enforced, boolean held) {
  /** Creates a request for a bucket that decides even before the cache is restored. */
  public BucketRequest(String bucket, BucketLimit limit, boolean enforced) {
    this(bucket, limit, enforced, false);
  }

  /** Returns whether a call takes one of the bucket's slots instead of tokens. */
  public boolean hasSlots() {
    return limit.hasSlots();
  }
}
