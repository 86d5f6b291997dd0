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
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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
  private final List<CompiledPolicy> forUnnamedClients;
  private final Map<String, List<CompiledPolicy>> forNamedClients;
  private final Map<CalendarQuota, Integer> quotas;
  private final RunningPeriods periodsOfPolicies;
  private final Map<String, RunningPeriods> periodsOfClients;

  private PolicyMatcher(PolicySet set) {
    this.version = set.version();
    List<CompiledPolicy> all =
        set.policies().stream()
            .filter(policy -> policy.mode() != PolicyMode.OFF)
            .map(CompiledPolicy::of)
            .toList();
    this.quotas = new HashMap<>();
    for (CompiledPolicy policy : all) {
      if (policy.policy.limit() instanceof CalendarQuota quota) {
        quotas.putIfAbsent(quota, quotas.size());
      }
    }
    this.periodsOfPolicies = new RunningPeriods(ClientCalendar.OF_POLICY, quotas.size());
    this.periodsOfClients = periodsOfClients(set.calendars(), quotas.size());
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

  /**
   * Shortens a list to what fits into a check; gives what was taken out: shadow policies first,
   * policies that deny every call last.
   */
  private static List<Policy> leaveOut(List<CompiledPolicy> matched) {
    List<CompiledPolicy> byWeight = new ArrayList<>(matched);
    byWeight.sort(Comparator.comparingInt(CompiledPolicy::weight).reversed());
    List<CompiledPolicy> tooMany = byWeight.subList(Check.MAX_BUCKETS, byWeight.size());
    Set<CompiledPolicy> left = Collections.newSetFromMap(new IdentityHashMap<>());
    left.addAll(tooMany);
    matched.removeIf(left::contains);
    return tooMany.stream().map(CompiledPolicy::policy).toList();
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
    RunningPeriods periods = periodsOfClients.getOrDefault(client, periodsOfPolicies);
    Integer index = quotas.get(quota);
    return index == null
        ? quota.at(epochMillis, periods.calendar)
        : periods.at(quota, index, epochMillis);
  }

  /** Clients with equal calendars share what is remembered. */
  private static Map<String, RunningPeriods> periodsOfClients(
      Map<String, ClientCalendar> calendars, int quotas) {
    Map<ClientCalendar, RunningPeriods> distinct = new HashMap<>();
    Map<String, RunningPeriods> periods = new HashMap<>();
    calendars.forEach(
        (client, calendar) ->
            periods.put(
                client,
                distinct.computeIfAbsent(calendar, each -> new RunningPeriods(each, quotas))));
    return periods;
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

  /**
   * The running period of each quota by one calendar. Written without a guard: a span is immutable,
   * so another thread sees it whole or reckons it once more.
   */
  private static final class RunningPeriods {
    private final ClientCalendar calendar;
    private final int quotas;
    private CalendarQuota.@Nullable Span @Nullable [] spans;

    RunningPeriods(ClientCalendar calendar, int quotas) {
      this.calendar = calendar;
      this.quotas = quotas;
    }

    CalendarQuota.Span at(CalendarQuota quota, int index, long epochMillis) {
      CalendarQuota.@Nullable Span[] kept = spans;
      if (kept == null) {
        kept = new CalendarQuota.Span[quotas];
        spans = kept;
      }
      CalendarQuota.Span known = kept[index];
      long epochSecond = Math.floorDiv(epochMillis, MILLIS_PER_SECOND);
      if (known != null
          && known.startEpochSecond() <= epochSecond
          && epochSecond < known.endEpochSecond()) {
        return known;
      }
      CalendarQuota.Span span = quota.at(epochMillis, calendar);
      kept[index] = span;
      return span;
    }
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

    /** How much a call must not be decided without it. */
    int weight() {
      return policy.denies() ? 2 : enforced ? 1 : 0;
    }

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
