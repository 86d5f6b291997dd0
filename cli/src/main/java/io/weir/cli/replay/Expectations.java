// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallLine;
import io.weir.cli.records.Hash;
import io.weir.cli.records.Rate;
import io.weir.cli.records.Rates;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.DefaultVerdict;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds the policies that match recorded calls, by version. Conditions on values that are not
 * recorded are ignored; a policy with such a condition may match. Not thread-safe.
 */
final class Expectations {
  /** Maximum number of cached kinds of calls: client, endpoint, meter and version. */
  private static final int MAX_KNOWN = 1 << 16;

  private static final int MAX_MATCHERS = 64;
  private static final long MILLIS_PER_SECOND = 1_000;

  private final PolicyVersions versions;
  private final Hash hash;
  private final Rates rates;
  private final Map<Long, Expectation> known = new HashMap<>();
  private final List<Matcher> matchers = new ArrayList<>();
  private final Set<Long> unknownVersions = new HashSet<>();

  /**
   * The policies that match a kind of call, as far as records show. Immutable.
   *
   * @param fromMillis first time for which they match
   * @param untilMillis first time for which other policies may match
   * @param isCut whether more policies match than are evaluated, so that the evaluated ones are
   *     unknown
   * @param buckets the bucket of each policy that matches or may match
   */
  record Expectation(long fromMillis, long untilMillis, boolean isCut, List<Bucket> buckets) {

    /**
     * The bucket of a policy.
     *
     * @param policy the policy's name
     * @param policyHash hash of the policy's name
     * @param key hash of the bucket's key
     * @param limit number of the limit
     * @param capacityTokens maximum number of tokens of the bucket
     * @param enforced whether the policy denies calls
     * @param isCertain false if the policy depends on values that are not recorded
     * @param isRecorded whether records have the bucket
     * @param denies whether the policy denies every call
     * @param onCacheFailure what decides a call when Redis does not
     * @param isUndecidedWhenCold whether {@code onCacheFailure} also decides while Redis answers
     *     but is not restored
     * @param decidesAlone whether the bucket's content alone decides if it has enough tokens for a
     *     cost
     */
    record Bucket(
        String policy,
        long policyHash,
        long key,
        int limit,
        long capacityTokens,
        boolean enforced,
        boolean isCertain,
        boolean isRecorded,
        boolean denies,
        CacheFailureMode onCacheFailure,
        boolean isUndecidedWhenCold,
        boolean decidesAlone) {

      /** Returns whether the record of an allowed call must have this bucket. */
      boolean isDue() {
        return isCertain && enforced && isRecorded;
      }
    }

    Expectation {
      buckets = List.copyOf(buckets);
    }

    boolean isCertain() {
      return buckets.stream().allMatch(Bucket::isCertain);
    }

    boolean holds(long epochMillis) {
      return epochMillis >= fromMillis && epochMillis < untilMillis;
    }
  }

  Expectations(PolicyVersions versions, Hash hash, Rates rates) {
    this.versions = versions;
    this.hash = hash;
    this.rates = rates;
  }

  /**
   * Returns the policies that match a call or may match it; null if the policies of its version are
   * unknown.
   *
   * @param epochMillis the time that selects the periods
   */
  @Nullable Expectation of(CallLine call, long epochMillis) {
    long kind =
        Hash.of(
            Hash.of(call.client.hash(), call.endpoint.hash()),
            Hash.of(call.meter.hash(), (call.policiesVersion << 1) | (call.hasAddress ? 1 : 0)));
    Expectation met = known.get(kind);
    if (met != null && met.holds(epochMillis)) {
      return met;
    }
    Matcher matcher = matcher(call.policiesVersion, call.hasAddress, epochMillis);
    if (matcher == null) {
      return null;
    }
    Expectation found =
        matcher.match(
            new CallFacts(call.client.toString(), call.endpoint.toString(), call.meter.toString()),
            epochMillis);
    if (known.size() >= MAX_KNOWN) {
      known.clear();
    }
    known.put(kind, found);
    return found;
  }

  private @Nullable Matcher matcher(long version, boolean hasAddress, long epochMillis) {
    if (unknownVersions.contains(version)) {
      return null;
    }
    for (Matcher matcher : matchers) {
      if (matcher.version == version
          && matcher.hasAddress == hasAddress
          && matcher.segment.fromMillis() <= epochMillis
          && epochMillis < matcher.segment.untilMillis()) {
        return matcher;
      }
    }
    PolicyVersions.Segment segment = versions.at(version, epochMillis);
    if (segment == null) {
      unknownVersions.add(version);
      return null;
    }
    if (matchers.size() >= MAX_MATCHERS) {
      matchers.remove(0);
    }
    Matcher added = new Matcher(version, hasAddress, segment);
    matchers.add(added);
    return added;
  }

  /**
   * The policies of one version, with the names of the policies that depend on values that are not
   * recorded.
   */
  private final class Matcher {
    private final long version;
    private final boolean hasAddress;
    private final PolicyVersions.Segment segment;
    private final PolicyMatcher possible;
    private final Set<String> uncertain = new HashSet<>();
    private final Set<String> ofAddresses = new HashSet<>();

    Matcher(long version, boolean hasAddress, PolicyVersions.Segment segment) {
      this.version = version;
      this.hasAddress = hasAddress;
      this.segment = segment;
      PolicySet set = segment.policies();
      this.possible =
          PolicyMatcher.of(
              new PolicySet(
                  set.version(),
                  set.policies().stream().map(this::byWhatIsRecorded).toList(),
                  set.clients(),
                  set.unmatchedCalls()));
    }

    /**
     * Returns a policy without unrecorded conditions. A call with an address may be in any network;
     * a call without an address is in no network.
     */
    private Policy byWhatIsRecorded(Policy policy) {
      PolicyMatch match = policy.match();
      boolean looksAtAddress = hasAddress && !match.ip().isEmpty();
      if (looksAtAddress || !match.attributes().isEmpty()) {
        uncertain.add(policy.name());
      }
      if (policy.key().contains(KeyPart.IP)) {
        ofAddresses.add(policy.name());
      }
      return policy.toBuilder()
          .match(
              new PolicyMatch(
                  match.client(),
                  match.endpoint(),
                  match.meter(),
                  hasAddress ? List.of() : match.ip(),
                  Map.of()))
          .key(policy.key().stream().filter(part -> part != KeyPart.IP || !hasAddress).toList())
          .build();
    }

    Expectation match(CallFacts call, long epochMillis) {
      MatchedPolicies matched = possible.matchAll(call, epochMillis).fitting();
      Set<String> surelyReplaced = replaced(matched, true);
      Set<String> perhapsReplaced = replaced(matched, false);
      List<Expectation.Bucket> buckets = new ArrayList<>();
      long from = segment.fromMillis();
      long until = segment.untilMillis();
      boolean isSurelyMatched = false;
      boolean isPerhapsMatched = false;
      for (MatchedPolicy each : matched.evaluated()) {
        Expectation.Bucket bucket = bucket(each, perhapsReplaced);
        isSurelyMatched |= !uncertain.contains(each.policy().name()) && bucket.enforced();
        isPerhapsMatched |= bucket.enforced();
        if (surelyReplaced.contains(each.policy().name())) {
          continue; // it matches, but another policy replaces it
        }
        buckets.add(bucket);
        if (each.period() != null) {
          from = Math.max(from, each.period().startEpochSecond() * MILLIS_PER_SECOND);
          until = Math.min(until, each.period().endEpochSecond() * MILLIS_PER_SECOND);
        }
      }
      if (!isSurelyMatched && segment.policies().unmatchedCalls() == DefaultVerdict.REFUSE) {
        buckets.add(ofUnmatchedCalls(!isPerhapsMatched));
      }
      return new Expectation(from, until, !matched.leftOut().isEmpty(), buckets);
    }

    /**
     * Returns the names of the policies that other policies replace.
     *
     * @param surely true for the policies that other policies certainly replace; false for those
     *     that they may replace
     */
    private Set<String> replaced(MatchedPolicies matched, boolean surely) {
      return matched.without(policy -> uncertain.contains(policy.name()) == surely).replaced();
    }

    private Expectation.Bucket bucket(MatchedPolicy match, Set<String> perhapsReplaced) {
      Policy policy = match.policy();
      String name = policy.name();
      return new Expectation.Bucket(
          name,
          hash.of(name),
          hash.of(match.bucket().bucket()),
          rates.number(rate(match.bucket().limit())),
          match.bucket().limit().capacityTokens(),
          policy.mode() == PolicyMode.ENFORCE,
          !uncertain.contains(name) && !perhapsReplaced.contains(name),
          policy.isRecorded() && !ofAddresses.contains(name),
          policy.denies(),
          policy.onCacheFailure(),
          match.bucket().held() || !policy.isRecorded(),
          match.bucket().limit().decidesAlone());
    }

    /** Returns the bucket of the policy that denies a call if no enforced policy matches it. */
    private Expectation.Bucket ofUnmatchedCalls(boolean isCertain) {
      String name = PolicyMatcher.UNMATCHED_CALLS.name();
      return new Expectation.Bucket(
          name,
          hash.of(name),
          0,
          rates.number(rate(PolicyMatcher.UNMATCHED_CALLS.limit().ofBucket(null))),
          0,
          true,
          isCertain,
          false,
          true,
          CacheFailureMode.CLOSED,
          false,
          true);
    }
  }

  private static Rate rate(BucketLimit limit) {
    if (limit instanceof TokenBucketLimit bucket) {
      return Rate.of(
          Rate.TOKEN_BUCKET,
          bucket.capacityTokens(),
          bucket.refillTokens(),
          bucket.refillPeriodMicros());
    }
    if (limit instanceof SlidingWindowLimit sliding) {
      return Rate.of(
          Rate.SLIDING_WINDOW,
          sliding.capacityTokens(),
          sliding.subWindows(),
          sliding.windowMicros());
    }
    return limit instanceof FixedWindowLimit window
        ? Rate.of(Rate.FIXED_WINDOW, window.capacityTokens(), 0, window.windowMicros())
        : Rate.of(Rate.QUOTA, limit.capacityTokens(), 0, 0);
  }
}
