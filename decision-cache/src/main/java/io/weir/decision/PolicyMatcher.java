// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.BucketKeys;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.ClientCalendar;
import io.weir.topics.model.ColdCacheMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A policy set, compiled for the hot path. Safe for threads. Policies that are off are left out. A
 * client that some policy names in full is found by a hash look-up; the patterns of clients are
 * tried for the others only. The running period of a quota is remembered for each calendar, and
 * reckoned anew when the time has left it.
 */
public final class PolicyMatcher {
  private static final long MICROS_PER_SECOND = 1_000_000;
  private static final long MILLIS_PER_SECOND = 1_000;

  private final long version;
  private final Map<String, ClientCalendar> calendars;
  private final List<CompiledPolicy> forUnnamedClients;
  private final Map<String, List<CompiledPolicy>> forNamedClients;

  /** At most one entry for each pair of a quota and a calendar in the set. */
  private final Map<Timetable, CalendarQuota.Span> periods = new ConcurrentHashMap<>();

  private record Timetable(CalendarQuota quota, ClientCalendar calendar) {}

  private PolicyMatcher(PolicySet set) {
    this.version = set.version();
    List<CompiledPolicy> all =
        set.policies().stream()
            .filter(policy -> policy.mode() != PolicyMode.OFF)
            .map(CompiledPolicy::of)
            .toList();
    this.calendars = set.calendars();
    this.forUnnamedClients = all.stream().filter(CompiledPolicy::mayMatchUnnamedClients).toList();
    this.forNamedClients = new HashMap<>();
    for (CompiledPolicy policy : all) {
      for (NamePattern pattern : policy.client) {
        if (pattern instanceof NamePattern.Exact exact) {
          forNamedClients.computeIfAbsent(
              exact.text(),
              name -> all.stream().filter(other -> fits(other.client, name)).toList());
        }
      }
    }
  }

  /** Compiles a set. */
  public static PolicyMatcher of(PolicySet set) {
    return new PolicyMatcher(set);
  }

  /** Version of the set. */
  public long policiesVersion() {
    return version;
  }

  /**
   * The policies of a call, with its buckets.
   *
   * @param nowEpochMillis by the cache's clock; decides which period of a quota is asked
   */
  public MatchedPolicies match(String client, String endpoint, String meter, long nowEpochMillis) {
    List<CompiledPolicy> named = forNamedClients.get(client);
    List<CompiledPolicy> matched = new ArrayList<>();
    for (CompiledPolicy candidate : named == null ? forUnnamedClients : named) {
      if ((named != null || fits(candidate.client, client))
          && fits(candidate.endpoint, endpoint)
          && fits(candidate.meter, meter)) {
        matched.add(candidate);
      }
    }
    List<Policy> leftOut = matched.size() > Check.MAX_BUCKETS ? leaveOut(matched) : List.of();
    return build(matched, leftOut, client, endpoint, nowEpochMillis);
  }

  /** Shortens a list to what fits into a check; gives what was taken out. */
  private static List<Policy> leaveOut(List<CompiledPolicy> matched) {
    List<Policy> leftOut = new ArrayList<>();
    for (boolean enforced : new boolean[] {false, true}) {
      for (int i = matched.size() - 1; i >= 0 && matched.size() > Check.MAX_BUCKETS; i--) {
        if (matched.get(i).enforced == enforced) {
          leftOut.add(matched.remove(i).policy);
        }
      }
    }
    return leftOut;
  }

  private MatchedPolicies build(
      List<CompiledPolicy> matched,
      List<Policy> leftOut,
      String client,
      String endpoint,
      long nowEpochMillis) {
    List<Policy> policies = new ArrayList<>(matched.size());
    List<BucketRequest> buckets = new ArrayList<>(matched.size());
    if (!matched.isEmpty()) {
      String clientPrefix = BucketKeys.clientPrefix(client);
      for (CompiledPolicy match : matched) {
        String key = clientPrefix + match.keyPart;
        String bucket = match.perEndpoint ? key + ':' + BucketKeys.part(endpoint) : key;
        policies.add(match.policy);
        buckets.add(request(match, bucket, client, nowEpochMillis));
      }
    }
    return new MatchedPolicies(version, policies, buckets, leftOut);
  }

  private BucketRequest request(
      CompiledPolicy match, String bucket, String client, long nowEpochMillis) {
    if (match.policy.limit() instanceof CalendarQuota quota) {
      long end = period(quota, client, nowEpochMillis).endEpochSecond();
      return new BucketRequest(
          BucketKeys.ofPeriod(bucket, end),
          new QuotaLimit(quota.capacityTokens(), end * MICROS_PER_SECOND),
          match.enforced,
          match.held);
    }
    return new BucketRequest(bucket, (TokenBucketLimit) match.policy.limit(), match.enforced);
  }

  /** The period of a quota of this set that holds a moment, by the client's calendar. */
  public CalendarQuota.Span period(CalendarQuota quota, String client, long epochMillis) {
    Timetable timetable =
        new Timetable(quota, calendars.getOrDefault(client, ClientCalendar.OF_POLICY));
    long epochSecond = Math.floorDiv(epochMillis, MILLIS_PER_SECOND);
    CalendarQuota.Span known = periods.get(timetable);
    if (known != null
        && known.startEpochSecond() <= epochSecond
        && epochSecond < known.endEpochSecond()) {
      return known;
    }
    CalendarQuota.Span span = quota.at(epochMillis, timetable.calendar);
    periods.put(timetable, span);
    return span;
  }

  private static boolean fits(List<NamePattern> patterns, String name) {
    if (patterns.isEmpty()) {
      return true;
    }
    for (NamePattern pattern : patterns) {
      if (pattern.matches(name)) {
        return true;
      }
    }
    return false;
  }

  private record CompiledPolicy(
      Policy policy,
      List<NamePattern> client,
      List<NamePattern> endpoint,
      List<NamePattern> meter,
      String keyPart,
      boolean perEndpoint,
      boolean enforced,
      boolean held) {

    static CompiledPolicy of(Policy policy) {
      boolean enforced = policy.mode() == PolicyMode.ENFORCE;
      return new CompiledPolicy(
          policy,
          compile(policy.match().client()),
          compile(policy.match().endpoint()),
          compile(policy.match().meter()),
          BucketKeys.part(policy.name()),
          policy.key().contains(KeyPart.ENDPOINT),
          enforced,
          // a shadow policy must not keep enforced ones from being decided
          enforced && policy.onColdCache() == ColdCacheMode.HOLD);
    }

    private static List<NamePattern> compile(List<String> patterns) {
      return patterns.stream().map(NamePattern::of).toList();
    }

    boolean mayMatchUnnamedClients() {
      return client.isEmpty()
          || client.stream().anyMatch(pattern -> !(pattern instanceof NamePattern.Exact));
    }
  }
}
