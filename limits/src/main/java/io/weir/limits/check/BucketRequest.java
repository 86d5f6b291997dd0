// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketLimit;
import io.weir.limits.ConcurrencyLimit;

/**
 * One bucket of a check.
 *
 * @param bucket the bucket's key in the cache
 * @param limit the bucket's capacity and refill
 * @param enforced true if a lack of tokens denies the call. A bucket that is not enforced (shadow)
 *     is evaluated, and charged if it holds the cost, but never denies a call
 * @param held true if the bucket must not be used while the cache is cold: the check is then
 *     undecided ({@link Decision.Cause#COLD})
 */
public record BucketRequest(String bucket, BucketLimit limit, boolean enforced, boolean held) {
  /** Creates the request of a bucket that is also used while the cache is not restored. */
  public BucketRequest(String bucket, BucketLimit limit, boolean enforced) {
    this(bucket, limit, enforced, false);
  }

  /** Returns whether a call takes one of the bucket's slots instead of tokens. */
  public boolean hasSlots() {
    return limit instanceof ConcurrencyLimit;
  }
}
