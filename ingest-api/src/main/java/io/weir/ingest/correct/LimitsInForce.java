// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.Correction;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicySet;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * How far below zero a correction may take a bucket: as its policy says, or one capacity of the
 * correction's limit when the policy is gone. Not safe for threads.
 */
public final class DebtCaps {
  /** What a name that is too long or too strange for a key is replaced by. */
  private static final String HASHED = "h:";

  private final Supplier<PolicySet> policies;
  private PolicySet known = PolicySet.EMPTY;
  private Map<String, Long> capTokensByPart = Map.of();

  /**
   * Debt caps of the policies in force.
   *
   * @param policies gives the same object until policies change
   */
  public DebtCaps(Supplier<PolicySet> policies) {
    this.policies = policies;
  }

  /**
   * The cap of a correction, in tokens.
   *
   * @throws IllegalArgumentException when the bucket's key is not one of ours
   */
  long of(Correction correction) {
    String part = BucketKeys.policyPart(correction.bucket());
    PolicySet current = policies.get();
    if (!current.equals(known)) {
      capTokensByPart = byPart(current);
      known = current;
    }
    Long capTokens = capTokensByPart.get(part);
    return capTokens == null ? correction.limit().capacityTokens() : capTokens;
  }

  private static Map<String, Long> byPart(PolicySet policies) {
    Map<String, Long> caps = new HashMap<>();
    for (Policy policy : policies.policies()) {
      String part = BucketKeys.part(policy.name());
      caps.put(part.startsWith(HASHED) ? part : policy.name(), policy.debtCapTokens());
    }
    return caps;
  }
}
