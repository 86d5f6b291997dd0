// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.BucketKey;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a call that represents a descriptor of Envoy's rate limit service. Among
 * policies for descriptors, only the most specific policies apply to the call. A limit in the
 * descriptor overrides the limits of the most specific policies. Immutable.
 *
 * <p>A policy is for descriptors if its match contains the attribute {@value #DOMAIN}. Weir
 * compares two policies for descriptors entry by entry, in the order of the descriptor. A complete
 * value is more specific than a prefix, and any prefix is more specific than {@code *}. Of two
 * prefixes, the longer prefix is more specific. If all entries are equally specific, a policy that
 * matches {@value #KEYS} is more specific than a policy without this attribute. Equally specific
 * policies apply together. Policies that are not for descriptors apply to every matching call.
 *
 * <p>A policy that applies to the call replaces the policies that its definition names. A named
 * policy for descriptors is replaced for all descriptors of the request. A policy with an
 * overridden limit replaces no policy, and no policy replaces it.
 *
 * @param entries names of the attributes that contain the values of the descriptor's entries, in
 *     order
 * @param limit the limit that overrides the limits of the policies; null for none
 * @param replaced names of the policies that are replaced because of other descriptors of the
 *     request
 */
public record Descriptor(List<String> entries, @Nullable PolicyLimit limit, Set<String> replaced) {
  /** The name of the attribute with the domain of the request. */
  public static final String DOMAIN = PolicyMatch.DESCRIPTOR_DOMAIN;

  /** The name of the attribute with the keys of the descriptor, in order, joined by semicolons. */
  public static final String KEYS = "envoy.descriptor";

  private static final String ANY = "*";

  private static final int IN_FULL = Integer.MAX_VALUE;
  private static final int NOT_AT_ALL = 0;

  public Descriptor {
    entries = List.copyOf(entries);
    replaced = Set.copyOf(replaced);
  }

  /** Creates a descriptor that no other descriptor of the request affects. */
  public Descriptor(List<String> entries, @Nullable PolicyLimit limit) {
    this(entries, limit, Set.of());
  }

  /** Returns a copy with the given names of replaced policies. */
  Descriptor withReplacedPolicies(Set<String> names) {
    return new Descriptor(entries, limit, names);
  }

  /**
   * Returns the policies that apply to the call: the result of {@link #select} without replaced
   * policies. The result contains at most the maximum number of policies per check.
   *
   * @param matched all policies that match the call, including replaced policies
   * @param nowEpochMillis time by the cache's clock; determines the period of an overriding limit
   */
  public MatchedPolicies apply(MatchedPolicies matched, CallFacts facts, long nowEpochMillis) {
    MatchedPolicies selected = select(matched, facts, nowEpochMillis);
    Set<String> ofOwn = selected.replaced();
    MatchedPolicies applying =
        ofOwn.isEmpty() && replaced.isEmpty()
            ? selected
            : selected.without(policy -> isReplaced(policy, ofOwn));
    return applying.fitting();
  }

  private boolean isReplaced(Policy policy, Set<String> ofOwn) {
    boolean isOfDescriptors = policy.match().isOfDescriptors();
    if (isOfDescriptors && limit != null) {
      return false;
    }
    return ofOwn.contains(policy.name()) || (isOfDescriptors && replaced.contains(policy.name()));
  }

  /**
   * Returns the matching policies. Of the policies for descriptors, only the most specific policies
   * are included.
   *
   * @param nowEpochMillis time by the cache's clock; determines the period of an overriding limit
   */
  public MatchedPolicies select(MatchedPolicies matched, CallFacts facts, long nowEpochMillis) {
    int[] most = null;
    for (MatchedPolicy match : matched.evaluated()) {
      if (match.policy().match().isOfDescriptors()) {
        int[] rank = rank(match.policy(), facts);
        most = most == null || Arrays.compare(rank, most) > 0 ? rank : most;
      }
    }
    if (most == null) {
      return matched;
    }
    List<MatchedPolicy> selected = new ArrayList<>(matched.evaluated().size());
    for (MatchedPolicy match : matched.evaluated()) {
      if (!match.policy().match().isOfDescriptors()) {
        selected.add(match);
      } else if (Arrays.equals(rank(match.policy(), facts), most)) {
        selected.add(
            limit == null || match.policy().limit().capacityTokens() == 0
                ? match
                : limitedBy(limit, match.policy(), facts, nowEpochMillis));
      }
    }
    return new MatchedPolicies(
        matched.policiesVersion(), selected, matched.leftOut(), matched.billing());
  }

  /** Returns the specificity of a matching policy. A greater array means a more specific policy. */
  private int[] rank(Policy policy, CallFacts facts) {
    int[] rank = new int[entries.size() + 1];
    for (int i = 0; i < entries.size(); i++) {
      rank[i] = rank(policy, facts, entries.get(i));
    }
    rank[entries.size()] = rank(policy, facts, KEYS);
    return rank;
  }

  private static int rank(Policy policy, CallFacts facts, String attribute) {
    List<String> patterns = policy.match().attributes().get(attribute);
    String value = facts.attributes().get(attribute);
    if (patterns == null || value == null || patterns.contains(ANY)) {
      return NOT_AT_ALL;
    }
    int most = 1; // the rank of a pattern that is no prefix
    for (String pattern : patterns) {
      int star = pattern.indexOf('*');
      if (star < 0 && pattern.equals(value)) {
        return IN_FULL;
      }
      if (star >= 0
          && star == pattern.length() - 1
          && value.startsWith(pattern.substring(0, star))) {
        most = Math.max(most, 1 + star);
      }
    }
    return most;
  }

  /**
   * Returns a policy with the limit of the descriptor. Each pair of a descriptor and a limit has a
   * separate bucket, because a bucket has only one limit. The bucket is not recorded, because no
   * version of the policies contains the limit.
   */
  private static MatchedPolicy limitedBy(
      PolicyLimit limit, Policy policy, CallFacts facts, long nowEpochMillis) {
    Policy limited =
        new Policy(
            policy.name(),
            policy.match(),
            List.of(KeyPart.ENDPOINT),
            limit,
            policy.mode(),
            policy.onCacheFailure());
    String owner =
        facts.client().length()
            + ":"
            + facts.client()
            + facts.endpoint().length()
            + ":"
            + facts.endpoint()
            + limit.describe();
    String key =
        BucketKey.cacheOnlyText(
            null, BucketKey.Part.of(policy.name()).keyText(), null, BucketKey.Part.of(owner), null);
    PeriodicLimit periodic = limit.periodic();
    PeriodicLimit.Span period =
        periodic == null ? null : periodic.at(nowEpochMillis, ClientCalendar.OF_POLICY);
    return new MatchedPolicy(
        limited,
        new BucketRequest(
            period == null ? key : BucketKey.inPeriod(key, period),
            limit.ofBucket(period),
            policy.mode() == PolicyMode.ENFORCE),
        period);
  }
}
