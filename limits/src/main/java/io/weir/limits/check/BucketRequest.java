// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketLimit;
import io.weir.limits.ConcurrencyLimit;

/**
 * One bucket of a check.
 *
 * @param bucket the bucket's key in the cache
 * @param limit how much the bucket holds and how it refills
 * @param enforced true if a lack of tokens refuses the call; false (shadow) if the bucket is
 *     evaluated and, if it holds the cost, charged, but never refuses a call
 * @param held true if the bucket must not be used while the cache is cold: the check is then
 *     undecided ({@link Decision.Cause#COLD})
 */
public record BucketRequest(String bucket, BucketLimit limit, boolean enforced, boolean held) {
  /** Creates the request of a bucket that is used on a cold cache, too. */
  public BucketRequest(String bucket, BucketLimit limit, boolean enforced) {
    this(bucket, limit, enforced, false);
  }

  /** Returns whether a call takes one of the bucket's slots, and not tokens. */
  public boolean hasSlots() {
    return limit instanceof ConcurrencyLimit;
  }
}
