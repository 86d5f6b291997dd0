// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.PeriodicLimit;
import io.weir.limits.check.BucketRequest;
import org.jspecify.annotations.Nullable;

/**
 * A policy that matches a call, and the bucket from which the call takes its cost.
 *
 * @param policy the policy
 * @param bucket the request to the cache
 * @param period the bucket's period; null if the bucket has no period
 */
public record MatchedPolicy(
    Policy policy, BucketRequest bucket, PeriodicLimit.@Nullable Span period) {}
