// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * All policies of one version. Immutable.
 *
 * @param version increases with every change; 0 means that policies were never set
 * @param policies the policies in the order in which they are reported; names are unique
 * @param clients the settings of clients, and the plans
 * @param unmatchedCalls the handling of calls that no policy matches
 */
public record PolicySet(
    long version, List<Policy> policies, Clients clients, DefaultVerdict unmatchedCalls) {
  /** Maximum number of policies in a set; each call is matched against all of them. */
  public static final int MAX_POLICIES = 1_000;

  /** The set without policies: every call is allowed and counted. */
  public static final PolicySet EMPTY = new PolicySet(0, List.of());

  /** Creates a set that allows calls that no policy matches. */
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
      throw new IllegalArgumentException("version must not be negative, is " + version);
    }
    if (policies.size() > MAX_POLICIES) {
      throw new IllegalArgumentException(
          "a policy set must have at most " + MAX_POLICIES + " policies, has " + policies.size());
    }
    Set<String> names = new HashSet<>();
    for (Policy policy : policies) {
      if (!names.add(policy.name())) {
        throw new IllegalArgumentException("two policies have the name '" + policy.name() + "'");
      }
    }
  }
}
