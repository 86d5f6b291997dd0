// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.TokenBucketLimit;

/**
 * One bucket that a check asks.
 *
 * @param bucket the bucket's key in the cache
 * @param limit its size and speed
 * @param enforced true when a lack of tokens refuses the call; false (shadow) when the bucket is
 *     evaluated and, if it can pay, charged, but never refuses
 */
public record BucketRequest(String bucket, TokenBucketLimit limit, boolean enforced) {}
