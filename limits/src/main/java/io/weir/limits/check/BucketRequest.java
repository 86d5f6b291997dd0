// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketLimit;

/**
 * One bucket that a check asks.
 *
 * @param bucket the bucket's key in the cache
 * @param limit how much it holds and how it fills
 * @param enforced true when a lack of tokens refuses the call; false (shadow) when the bucket is
 *     evaluated and, if it can pay, charged, but never refuses
 * @param held true when the bucket must not be used while the cache has lost its state: the check
 *     is then not decided ({@link Decision.Cause#COLD})
 */
public record BucketRequest(String bucket, BucketLimit limit, boolean enforced, boolean held) {
  /** A bucket that is used on a cold cache, too. */
  public BucketRequest(String bucket, BucketLimit limit, boolean enforced) {
    this(bucket, limit, enforced, false);
  }
}
