// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BucketKey;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlotKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A policy set, compiled to match calls fast. A matcher leaves out policies that are off. If a
 * policy names a client in full, the matcher finds the client's policies by a hash look-up. For
 * other clients, the matcher tries the patterns. A matcher caches the current period of each limit
 * per calendar. The matcher computes the period again when a call is outside the cached period.
 * Thread-safe.
 */
public final class PolicyMatcher {
  private static final long MILLIS_PER_SECOND = 1_000;

  /** The policy that denies calls of unknown clients, if the set refuses unknown clients. */
  public static final Policy UNKNOWN_CLIENTS = denying("unknown-clients");

  /** The policy that denies calls that no other policy matches, if the set refuses such calls. */
  public static final Policy UNMATCHED_CALLS = denying("unmatched-calls");

  private final long version;
  private final Clients clients;
  private final ApiKeys apiKeys;
  private final SlotPolicies slotPolicies;
  private final boolean replaces;
  private final Candidates withoutPlan;
  private final Map<String, Candidates> byPlan = new HashMap<>();

  /**
   * Policies for unknown clients, who share the buckets of one client; the key is the name of the
   * replaced policy.
   */
  private final Map<String, CompiledPolicy> ofUnknownClients = new HashMap<>();

  private final @Nullable CompiledPolicy refusal;
  private final @Nullable CompiledPolicy refusalOfUnmatched;
  private final Map<PolicyLimit, Integer> periodic;
  private final RunningPeriods periodsOfPolicies;
  private final Map<String, RunningPeriods> periodsOfClients;

  /** The billing calendars of clients that are not billed by UTC months. */
  private final Map<String, BillingCalendar> billing;

  private PolicyMatcher(PolicySet set) {
    this.version = set.version();
    this.clients = set.clients();
    this.apiKeys = ApiKeys.of(clients.settings());
    this.slotPolicies = new SlotPolicies(set);
    List<CompiledPolicy> all =
        set.policies().stream()
            .filter(policy -> policy.mode() != PolicyMode.OFF)
            .map(CompiledPolicy::of)
            .toList();
    this.replaces = all.stream().anyMatch(compiled -> !compiled.policy().replaces().isEmpty());
    this.periodic = new HashMap<>();
    Map<String, CompiledPolicy> byName = new HashMap<>();
    for (CompiledPolicy policy : all) {
      addPeriodic(policy.policy().limit());
      byName.put(policy.policy().name(), policy);
    }
    for (ClientSettings own : clients.settings().values()) {
      // forEach instead of values(): each map would keep the view in memory
      own.limits().forEach((policy, limit) -> addPeriodic(limit));
    }
    this.periodsOfPolicies = new RunningPeriods(ClientCalendar.OF_POLICY, periodic.size());
    this.periodsOfClients = periodsOfClients(clients.settings(), periodic.size());
    this.billing = billing(clients.settings());
    Set<String> ofPlans = new HashSet<>();
    clients.plans().values().forEach(ofPlans::addAll);
    this.withoutPlan = new Candidates(all, Set.of(), ofPlans);
    clients.plans().forEach((plan, names) -> byPlan.put(plan, new Candidates(all, names, ofPlans)));
    if (clients.unknown() == UnknownClients.LIMIT) {
      byName.forEach(
          (name, policy) ->
              ofUnknownClients.put(name, CompiledPolicy.of(policy.policy().shared())));
    }
    this.refusal =
        clients.unknown() == UnknownClients.REFUSE ? CompiledPolicy.of(UNKNOWN_CLIENTS) : null;
    this.refusalOfUnmatched =
        set.unmatchedCalls() == DefaultVerdict.REFUSE ? CompiledPolicy.of(UNMATCHED_CALLS) : null;
  }

  private static Policy denying(String name) {
    return new Policy(
        name,
        PolicyMatch.ANY,
        List.of(KeyPart.CLIENT),
        TokenBucketLimit.DENY,
        PolicyMode.ENFORCE,
        CacheFailureMode.LOCAL);
  }

  private void addPeriodic(PolicyLimit each) {
    if (each.periodic() != null) {
      periodic.putIfAbsent(each, periodic.size());
    }
  }

  /**
   * Returns the policy in the form that applies to the client, for example with the client's own
   * limit. The method creates the policy again for each call, because stored policies for 100,000
   * clients with their own limits would need too much memory.
   */
  private CompiledPolicy instead(CompiledPolicy policy, @Nullable ClientSettings settings) {
    if (settings == null) {
      return ofUnknownClients.isEmpty()
          ? policy
          : ofUnknownClients.getOrDefault(policy.policy().name(), policy);
    }
    PolicyLimit own = settings.limits().get(policy.policy().name());
    return own == null ? policy : policy.withLimit(own);
  }

  /** The policies for clients of one plan, in the order of the set. */
  private static final class Candidates {
    private final List<CompiledPolicy> forUnnamedClients;
    private final Map<String, List<CompiledPolicy>> forNamedClients = new HashMap<>();

    /**
     * Selects the policies that the plan names, and the policies that no plan names.
     *
     * @param ofPlan the names of the plan's policies
     * @param ofPlans the names of all plans' policies
     */
    Candidates(List<CompiledPolicy> all, Set<String> ofPlan, Set<String> ofPlans) {
      List<CompiledPolicy> selected =
          all.stream()
              .filter(
                  compiled ->
                      ofPlan.contains(compiled.policy().name())
                          || !ofPlans.contains(compiled.policy().name()))
              .toList();
      this.forUnnamedClients =
          selected.stream().filter(CompiledPolicy::mayMatchUnnamedClients).toList();
      for (CompiledPolicy policy : selected) {
        for (NamePattern pattern : policy.client()) {
          if (pattern instanceof NamePattern.Exact exact) {
            forNamedClients.computeIfAbsent(
                exact.text(),
                name ->
                    selected.stream()
                        .filter(other -> NamePattern.anyMatches(other.client(), name))
                        .toList());
          }
        }
      }
    }
  }

  /** Compiles a policy set. */
  public static PolicyMatcher of(PolicySet set) {
    return new PolicyMatcher(set);
  }

  /** Returns the version of the set. */
  public long policiesVersion() {
    return version;
  }

  /** Returns the calendar by which a client is billed; null for UTC months. */
  public @Nullable BillingCalendar billing(String client) {
    return billing.get(client);
  }

  /** Returns the API keys of the set's clients. */
  public ApiKeys apiKeys() {
    return apiKeys;
  }

  /**
   * Returns the policy to which held slots belong, with the current limit of the bucket; null if
   * the slots belong to no policy. The policy may be off.
   */
  public @Nullable MatchedPolicy slots(SlotKey key) {
    return slotPolicies.find(key);
  }

  /**
   * Returns the policies that match a call without an address and attributes, with the call's
   * buckets.
   *
   * @param nowEpochMillis time by the cache's clock; determines the period
   */
  public MatchedPolicies match(String client, String endpoint, String meter, long nowEpochMillis) {
    return match(new CallFacts(client, endpoint, meter), nowEpochMillis);
  }

  /** Returns whether a policy that is not off replaces other policies. */
  public boolean replaces() {
    return replaces;
  }

  /**
   * Returns the policies that match a call, with the call's buckets. A policy does not match a call
   * that lacks a part of the policy's key. The result excludes every policy that another matching
   * policy replaces, even if that other policy is itself replaced.
   *
   * @param nowEpochMillis time by the cache's clock; determines the period
   */
  public MatchedPolicies match(CallFacts call, long nowEpochMillis) {
    return match(call, nowEpochMillis, replaces, true);
  }

  /**
   * Returns the policies that match a call, including replaced policies and policies that do not
   * fit into one check. The caller must remove the replaced policies and then call {@link
   * MatchedPolicies#fitting()}. See {@link #match(CallFacts, long)}.
   */
  public MatchedPolicies matchAll(CallFacts call, long nowEpochMillis) {
    return match(call, nowEpochMillis, false, false);
  }

  private MatchedPolicies match(
      CallFacts call, long nowEpochMillis, boolean leavesReplaced, boolean leavesOut) {
    String client = call.client();
    ClientSettings settings = clients.settings().get(client);
    String plan = clients.planOf(settings);
    if (settings == null && refusal != null) {
      return build(List.of(refusal), List.of(), call, plan, null, nowEpochMillis);
    }
    Candidates candidates = plan == null ? withoutPlan : byPlan.getOrDefault(plan, withoutPlan);
    List<CompiledPolicy> named = candidates.forNamedClients.get(client);
    List<CompiledPolicy> matched = new ArrayList<>();
    for (CompiledPolicy candidate : named == null ? candidates.forUnnamedClients : named) {
      if ((named != null || NamePattern.anyMatches(candidate.client(), client))
          && candidate.fits(call, plan)) {
        matched.add(instead(candidate, settings));
      }
    }
    // a shadow policy does not change a verdict, so it does not count as a match
    if (refusalOfUnmatched != null && matched.stream().noneMatch(CompiledPolicy::enforced)) {
      matched.add(refusalOfUnmatched);
    }
    if (leavesReplaced) {
      Set<String> replaced = new HashSet<>();
      matched.forEach(match -> replaced.addAll(match.policy().replaces()));
      matched.removeIf(match -> replaced.contains(match.policy().name()));
    }
    List<Policy> leftOut =
        leavesOut && matched.size() > Check.MAX_BUCKETS ? leaveOut(matched) : List.of();
    BillingCalendar calendar = settings == null ? null : billing.get(client);
    return build(matched, leftOut, call, plan, calendar, nowEpochMillis);
  }

  /**
   * Shortens a list to the maximum size of a check, and returns the removed policies. Shadow
   * policies are removed first, and policies that deny every call last.
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
      CallFacts call,
      @Nullable String plan,
      @Nullable BillingCalendar calendar,
      long nowEpochMillis) {
    List<MatchedPolicy> evaluated = new ArrayList<>(matched.size());
    if (!matched.isEmpty()) {
      String client = call.client();
      String clientPrefix = BucketKey.clientPrefix(client);
      BucketKey.Part endpointPart =
          matched.stream().anyMatch(CompiledPolicy::perEndpoint)
              ? BucketKey.Part.of(call.endpoint())
              : null;
      for (CompiledPolicy match : matched) {
        BucketKey.Part part = match.perEndpoint() ? endpointPart : null;
        String key =
            match.policy().isRecorded()
                ? BucketKey.text(clientPrefix, match.keyPart(), part, 0)
                : match.cacheOnlyKey(call, plan, part);
        PeriodicLimit.Span period = period(match.policy(), client, key, nowEpochMillis);
        if (period != null) {
          key = BucketKey.inPeriod(key, period);
        }
        BucketRequest bucket =
            new BucketRequest(
                key, match.policy().limit().ofBucket(period), match.enforced(), match.held());
        evaluated.add(new MatchedPolicy(match.policy(), bucket, period));
      }
    }
    return new MatchedPolicies(version, evaluated, leftOut, calendar);
  }

  /**
   * Returns the period that contains a time, for one bucket; null if the bucket has no period. The
   * calendar of the client applies, or the calendar of the policy if clients share the bucket.
   */
  private PeriodicLimit.@Nullable Span period(
      Policy policy, String client, String bucket, long epochMillis) {
    PeriodicLimit limit = policy.limit().periodic();
    if (limit == null) {
      return null;
    }
    RunningPeriods periods =
        policy.isOfOneClient()
            ? periodsOfClients.getOrDefault(client, periodsOfPolicies)
            : periodsOfPolicies;
    if (limit.resetJitterSeconds() > 0) {
      return limit.at(epochMillis, periods.calendar, bucket);
    }
    Integer index = periodic.get(limit);
    return index == null
        ? limit.at(epochMillis, periods.calendar)
        : periods.at(limit, index, epochMillis);
  }

  /** Creates the cached periods of each client. Clients with equal calendars share one object. */
  private static Map<String, RunningPeriods> periodsOfClients(
      Map<String, ClientSettings> settings, int limits) {
    Map<ClientCalendar, RunningPeriods> distinct = new HashMap<>();
    Map<String, RunningPeriods> periods = new HashMap<>();
    settings.forEach(
        (client, own) -> {
          if (!own.calendar().equals(ClientCalendar.OF_POLICY)) {
            periods.put(
                client,
                distinct.computeIfAbsent(own.calendar(), each -> new RunningPeriods(each, limits)));
          }
        });
    return periods;
  }

  /**
   * Returns the calendars by which clients are billed. Clients with equal calendars share one
   * object.
   */
  private static Map<String, BillingCalendar> billing(Map<String, ClientSettings> settings) {
    Map<ClientCalendar, BillingCalendar> distinct = new HashMap<>();
    Map<String, BillingCalendar> calendars = new HashMap<>();
    settings.forEach(
        (client, own) -> {
          BillingCalendar calendar = distinct.computeIfAbsent(own.calendar(), BillingCalendar::of);
          if (calendar != null) {
            calendars.put(client, calendar);
          }
        });
    return calendars;
  }

  /**
   * The cached current periods of all limits under one calendar. The cache needs no lock: a span is
   * immutable, so another thread reads a complete span or computes it again.
   */
  private static final class RunningPeriods {
    private final ClientCalendar calendar;
    private final int limits;
    private PeriodicLimit.@Nullable Span @Nullable [] spans;

    RunningPeriods(ClientCalendar calendar, int limits) {
      this.calendar = calendar;
      this.limits = limits;
    }

    PeriodicLimit.Span at(PeriodicLimit limit, int index, long epochMillis) {
      PeriodicLimit.@Nullable Span[] kept = spans;
      if (kept == null) {
        kept = new PeriodicLimit.Span[limits];
        spans = kept;
      }
      PeriodicLimit.Span known = kept[index];
      long epochSecond = Math.floorDiv(epochMillis, MILLIS_PER_SECOND);
      if (known != null
          && known.startEpochSecond() <= epochSecond
          && epochSecond < known.endEpochSecond()) {
        return known;
      }
      PeriodicLimit.Span span = limit.at(epochMillis, calendar);
      kept[index] = span;
      return span;
    }
  }
}
