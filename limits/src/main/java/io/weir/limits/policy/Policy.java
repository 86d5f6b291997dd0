// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.util.List;

/**
 * A named limit.
 *
 * @param name its name, unique among policies
 * @param match which calls it is for
 * @param key what has a bucket of its own; always holds CLIENT, so that the keys of one call share
 *     a hash slot
 * @param limit the bucket's size and speed, or the calendar quota
 * @param mode what its verdict does
 * @param onCacheFailure what to do while the cache cannot answer
 * @param onColdCache what a quota does while the cache has lost its state; ALLOW for token buckets
 * @param debtCapTokens how far below zero a correction may take a bucket; 0 to 2^53 − 1
 */
public record Policy(
    String name,
    PolicyMatch match,
    List<KeyPart> key,
    PolicyLimit limit,
    PolicyMode mode,
    FailureMode onCacheFailure,
    ColdCacheMode onColdCache,
    long debtCapTokens) {
  public Policy {
    Names.require("name", name);
    key = List.copyOf(key);
    if (!key.contains(KeyPart.CLIENT)) {
      throw new IllegalArgumentException("key must contain client, is " + key);
    }
    if (key.stream().distinct().count() != key.size()) {
      throw new IllegalArgumentException("key must not repeat a part, is " + key);
    }
    if (onColdCache == ColdCacheMode.HOLD && limit.refills()) {
      throw new IllegalArgumentException("on_cold_cache: hold is for quotas and windows");
    }
    if (debtCapTokens < 0 || debtCapTokens >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(
          "debt_cap must be 0 to " + (TokenBucketLimit.EXACT_BELOW - 1) + ", is " + debtCapTokens);
    }
  }

  /** A policy with the defaults: a cold cache is allowed, the debt cap is one capacity. */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      FailureMode onCacheFailure) {
    this(
        name, match, key, limit, mode, onCacheFailure, ColdCacheMode.ALLOW, limit.capacityTokens());
  }

  /** Whether every call that it matches is refused, whatever the cache holds. */
  public boolean denies() {
    return mode == PolicyMode.ENFORCE && limit.capacityTokens() == 0;
  }
}
