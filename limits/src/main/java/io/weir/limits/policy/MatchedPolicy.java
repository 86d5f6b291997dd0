// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.PeriodicLimit;
import io.weir.limits.check.BucketRequest;
import org.jspecify.annotations.Nullable;

/**
 * A policy that matches a call, and the bucket that the call takes its cost from.
 *
 * @param policy the policy
 * @param bucket what the cache is asked for
 * @param period the period that the bucket belongs to; null when the bucket lasts
 */
public record MatchedPolicy(
    Policy policy, BucketRequest bucket, PeriodicLimit.@Nullable Span period) {}
