// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * All policies of one version. Immutable.
 *
 * @param version number that increases with every change; 0 if policies were never set
 * @param policies the policies, with unique names, in the order in which responses list them
 * @param clients the settings of clients, and the plans
 * @param unmatchedCalls the handling of calls that no policy matches
 */
public record PolicySet(
    long version, List<Policy> policies, Clients clients, DefaultVerdict unmatchedCalls) {
  /** Maximum number of policies in a set. Each call is matched against all policies. */
  public static final int MAX_POLICIES = 1_000;

  /** A set without policies, which allows and counts every call. */
  public static final PolicySet EMPTY = new PolicySet(0, List.of());

  /** Creates a set that allows all calls without a matching policy. */
  public PolicySet(long version, List<Policy> policies, Clients clients) {
    this(version, policies, clients, DefaultVerdict.ALLOW);
  }

  /** Creates a set for clients without settings. */
  public PolicySet(long version, List<Policy> policies) {
    this(version, policies, Clients.NONE);
  }

  public PolicySet {
    policies = List.copyOf(policies);
    if (version < 0) {
      throw new IllegalArgumentException("version must be at least 0, but is " + version);
    }
    if (policies.size() > MAX_POLICIES) {
      throw new IllegalArgumentException(
          "a policy set must have at most %s policies, but has %s"
              .formatted(MAX_POLICIES, policies.size()));
    }
    Set<String> names = new HashSet<>();
    for (Policy policy : policies) {
      if (!names.add(policy.name())) {
        throw new IllegalArgumentException(
            "policy names must be unique, but two policies have the name '" + policy.name() + "'");
      }
    }
  }
}
