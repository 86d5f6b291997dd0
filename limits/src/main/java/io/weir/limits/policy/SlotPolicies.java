// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BucketKey;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlotKey;
import io.weir.limits.check.BucketRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The policies with slots, including policies that are off, by the keys of their slots. Immutable.
 */
final class SlotPolicies {
  /** The policies with slots, by the policy's part of a key. */
  private final Map<String, Policy> policies = new HashMap<>();

  /** The clients' own limits, by the client's part of a key and then by policy name. */
  private final Map<String, Map<String, PolicyLimit>> ownLimits = new HashMap<>();

  SlotPolicies(PolicySet set) {
    for (Policy policy : set.policies()) {
      policies.put(BucketKey.Part.of(policy.name()).keyText(), policy);
    }
    Set<String> ofSlots =
        set.policies().stream()
            .filter(policy -> policy.limit().limitsConcurrency())
            .map(Policy::name)
            .collect(Collectors.toSet());
    set.clients()
        .settings()
        .forEach(
            (client, own) -> {
              if (own.limits().entrySet().stream().anyMatch(each -> isOfSlots(ofSlots, each))) {
                ownLimits.put(BucketKey.Part.of(client).keyText(), own.limits());
              }
            });
  }

  /**
   * Returns whether a client's own limit is a concurrency limit, or belongs to a policy with slots.
   */
  private static boolean isOfSlots(
      Set<String> policiesOfSlots, Map.Entry<String, PolicyLimit> own) {
    return own.getValue().limitsConcurrency() || policiesOfSlots.contains(own.getKey());
  }

  /**
   * Returns the policy with the client's own limit, if the client has one; null if no policy with
   * slots has this key.
   */
  @Nullable MatchedPolicy find(SlotKey key) {
    Policy policy = policies.get(key.policy().keyText());
    if (policy == null) {
      return null;
    }
    BucketKey.Part client = key.client();
    PolicyLimit limit = policy.limit();
    if (client != null && policy.isOfOneClient()) {
      limit = ownLimits.getOrDefault(client.keyText(), Map.of()).getOrDefault(policy.name(), limit);
    }
    return limit.limitsConcurrency()
        ? new MatchedPolicy(
            policy,
            new BucketRequest(
                key.text(), limit.ofBucket(null), policy.mode() == PolicyMode.ENFORCE),
            null)
        : null;
  }
}
