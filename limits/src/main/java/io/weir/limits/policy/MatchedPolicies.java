// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BillingCalendar;
import io.weir.limits.SlotClaim;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The policies that match one call, all from one version of the policy set. A node uses one
 * snapshot to decide and to record a call. The record therefore states the version that decided the
 * call, even while another thread replaces the set. Immutable.
 *
 * @param policiesVersion version of the set
 * @param evaluated the policies that are evaluated, in the order of the set; a check allows at most
 *     {@value Check#MAX_BUCKETS}
 * @param leftOut policies that match but do not fit into one check, shadow policies first. The node
 *     counts these policies in a metric, but does not evaluate them
 * @param billing the calendar by which the client is billed; null for UTC months
 */
public record MatchedPolicies(
    long policiesVersion,
    List<MatchedPolicy> evaluated,
    List<Policy> leftOut,
    @Nullable BillingCalendar billing) {
  public MatchedPolicies {
    evaluated = List.copyOf(evaluated);
    leftOut = List.copyOf(leftOut);
  }

  /** Returns the names of the policies that the matching policies replace. */
  public Set<String> replaced() {
    Set<String> names = Set.of();
    for (MatchedPolicy match : evaluated) {
      if (!match.policy().replaces().isEmpty()) {
        names = names.isEmpty() ? new HashSet<>() : names;
        names.addAll(match.policy().replaces());
      }
    }
    return names;
  }

  /** Returns these policies without the evaluated policies that satisfy a condition. */
  public MatchedPolicies without(Predicate<Policy> isReplaced) {
    List<MatchedPolicy> rest =
        evaluated.stream().filter(match -> !isReplaced.test(match.policy())).toList();
    return rest.size() == evaluated.size()
        ? this
        : new MatchedPolicies(policiesVersion, rest, leftOut, billing);
  }

  /**
   * Returns these policies, limited to the number that fits into one check. Shadow policies are
   * left out first, and policies that deny every call last. Among policies of the same kind, the
   * last policies of the set are left out first.
   */
  public MatchedPolicies fitting() {
    if (evaluated.size() <= Check.MAX_BUCKETS) {
      return this;
    }
    List<MatchedPolicy> byWeight = new ArrayList<>(evaluated);
    byWeight.sort(Comparator.comparingInt(MatchedPolicies::weight).reversed());
    Set<MatchedPolicy> kept = Collections.newSetFromMap(new IdentityHashMap<>());
    kept.addAll(byWeight.subList(0, Check.MAX_BUCKETS));
    List<Policy> left = new ArrayList<>(leftOut);
    byWeight.subList(Check.MAX_BUCKETS, byWeight.size()).forEach(each -> left.add(each.policy()));
    return new MatchedPolicies(
        policiesVersion, evaluated.stream().filter(kept::contains).toList(), left, billing);
  }

  private static int weight(MatchedPolicy match) {
    return match.policy().denies() ? 2 : match.bucket().enforced() ? 1 : 0;
  }

  /** Returns whether no policy is evaluated. */
  public boolean isEmpty() {
    return evaluated.isEmpty();
  }

  /**
   * Returns the first enforced policy that denies every call, whatever its bucket holds; null if
   * there is no such policy. A policy that denies every call decides without a request to the
   * cache.
   */
  public @Nullable MatchedPolicy blocking() {
    for (MatchedPolicy match : evaluated) {
      if (match.policy().denies()) {
        return match;
      }
    }
    return null;
  }

  /** Returns whether the call needs a request to the cache. */
  public boolean needsCheck() {
    return !isEmpty() && blocking() == null;
  }

  /** Returns whether the call takes slots if it is allowed. */
  public boolean hasSlots() {
    for (MatchedPolicy match : evaluated) {
      if (match.bucket().hasSlots()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the check of the call, which contains the bucket of each evaluated policy in the order
   * of the policies.
   *
   * @throws IllegalArgumentException if there is nothing to check, the cost is below 1, or the call
   *     needs slots
   */
  public Check check(long costTokens) {
    return check(costTokens, null);
  }

  /**
   * Returns the check of the call, which contains the bucket of each evaluated policy in the order
   * of the policies.
   *
   * @param claim the claim of slots; null only if the call needs no slots
   * @throws IllegalArgumentException if there is nothing to check or the cost is below 1
   */
  public Check check(long costTokens, @Nullable SlotClaim claim) {
    BucketRequest[] buckets = new BucketRequest[evaluated.size()];
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = evaluated.get(i).bucket();
    }
    return new Check(List.of(buckets), costTokens, claim);
  }
}
