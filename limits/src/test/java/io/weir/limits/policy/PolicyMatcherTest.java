// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketKey;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PolicyMatcherTest {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);

  private static Policy policy(String name, PolicyMatch match, PolicyMode mode) {
    return new Policy(name, match, List.of(KeyPart.CLIENT), LIMIT, mode, CacheFailureMode.OPEN);
  }

  private static Policy enforced(String name, PolicyMatch match) {
    return policy(name, match, PolicyMode.ENFORCE);
  }

  private static PolicyMatch clients(String... patterns) {
    return new PolicyMatch(List.of(patterns), List.of(), List.of());
  }

  private static List<String> names(PolicyMatcher matcher, String client) {
    return matcher.match(client, "GET /v1/items", "calls", 0).evaluated().stream()
        .map(MatchedPolicy::policy)
        .map(Policy::name)
        .toList();
  }

  private static PolicyMatcher matcher(Policy... policies) {
    return PolicyMatcher.of(new PolicySet(7, List.of(policies)));
  }

  @Test
  void match_emptySet_matchesNothing() {
    MatchedPolicies matched = PolicyMatcher.of(PolicySet.EMPTY).match("acme", "-", "calls", 0);

    assertTrue(matched.isEmpty());
    assertEquals(0, matched.policiesVersion());
  }

  @Test
  void match_severalPolicies_givesThemInTheSetsOrder() {
    PolicyMatcher matcher =
        matcher(
            enforced("glob", clients("a*")),
            enforced("named", clients("acme", "other")),
            enforced("all", PolicyMatch.ANY),
            enforced("other", clients("other")));

    assertEquals(List.of("glob", "named", "all"), names(matcher, "acme"));
    assertEquals(List.of("named", "all", "other"), names(matcher, "other"));
    assertEquals(List.of("glob", "all"), names(matcher, "axle"));
    assertEquals(List.of("all"), names(matcher, "zoo"));
    assertEquals(7, matcher.match("zoo", "-", "calls", 0).policiesVersion());
  }

  @Test
  void match_policyIsOff_isLeftOut() {
    PolicyMatcher matcher =
        matcher(policy("off", PolicyMatch.ANY, PolicyMode.OFF), enforced("on", PolicyMatch.ANY));

    assertEquals(List.of("on"), names(matcher, "acme"));
  }

  @Test
  void match_endpointAndMeter_mustFitToo() {
    PolicyMatcher matcher =
        matcher(
            enforced("get", new PolicyMatch(List.of(), List.of("GET /v1/*"), List.of("calls"))),
            enforced("post", new PolicyMatch(List.of(), List.of("POST *"), List.of())),
            enforced("bytes", new PolicyMatch(List.of(), List.of(), List.of("bytes"))));

    assertEquals(List.of("get"), names(matcher, "acme"));
  }

  @Test
  void match_shadowAndEndpointKey_buildsTheirBuckets() {
    PolicyMatcher matcher =
        matcher(
            policy("try", PolicyMatch.ANY, PolicyMode.SHADOW),
            new Policy(
                "per-endpoint",
                PolicyMatch.ANY,
                List.of(KeyPart.ENDPOINT, KeyPart.CLIENT),
                LIMIT,
                PolicyMode.ENFORCE,
                CacheFailureMode.CLOSED));

    Check check = matcher.match("acme", "GET /v1/items", "calls", 0).check(3);
    assertEquals(
        new Check(
            List.of(
                new BucketRequest(BucketKey.of("try", "acme").text(), LIMIT, false),
                new BucketRequest(
                    BucketKey.of("per-endpoint", "acme", "GET /v1/items").text(), LIMIT, true)),
            3),
        check);
  }

  @Test
  void match_morePoliciesThanACheckHolds_omitsShadowPoliciesFirst() {
    List<Policy> policies = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      policies.add(policy("shadow-" + i, PolicyMatch.ANY, PolicyMode.SHADOW));
    }
    for (int i = 0; i < 12; i++) {
      policies.add(enforced("enforced-" + i, PolicyMatch.ANY));
    }

    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(1, policies)).match("acme", "-", "calls", 0);
    assertEquals(Check.MAX_BUCKETS, matched.evaluated().size());
    assertEquals("shadow-3", matched.evaluated().get(3).policy().name());
    assertEquals("enforced-0", matched.evaluated().get(4).policy().name());
    assertEquals(8, matched.leftOut().size());
    assertTrue(matched.leftOut().stream().allMatch(p -> p.mode() == PolicyMode.SHADOW));
    assertEquals(Check.MAX_BUCKETS, matched.check(1).buckets().size());
  }

  @Test
  void match_morePoliciesThanACheckHolds_keepsThoseThatDeny() {
    List<Policy> policies = new ArrayList<>();
    for (int i = 0; i < Check.MAX_BUCKETS; i++) {
      policies.add(quota("enforced-" + i, CalendarPeriod.DAY, PolicyMode.ENFORCE));
    }
    policies.add(
        new Policy(
            "blocked",
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            TokenBucketLimit.DENY,
            PolicyMode.ENFORCE,
            CacheFailureMode.LOCAL));

    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(1, policies)).match("acme", "-", "calls", 0);
    assertEquals("enforced-15", matched.leftOut().get(0).name());
    assertEquals("blocked", matched.evaluated().get(Check.MAX_BUCKETS - 1).policy().name());
  }

  private static Policy quota(String name, CalendarPeriod period, PolicyMode mode) {
    return new Policy(
            name,
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            new CalendarQuota(1_000, period, ZoneId.of("UTC"), CalendarQuota.FIRST_OF_MONTH),
            mode,
            CacheFailureMode.OPEN)
        .toBuilder().onColdCache(ColdCacheMode.HOLD).debtCapTokens(1_000).build();
  }

  private static BucketRequest bucket(PolicyMatcher matcher, String client, String time) {
    return matcher
        .match(client, "-", "calls", Instant.parse(time).toEpochMilli())
        .evaluated()
        .get(0)
        .bucket();
  }

  private static BucketRequest ending(String policy, String client, String end) {
    long endEpochSecond = Instant.parse(end).getEpochSecond();
    return new BucketRequest(
        BucketKey.of(policy, client).in(endEpochSecond).text(),
        new QuotaLimit(1_000, endEpochSecond * 1_000_000),
        true,
        true);
  }

  @Test
  void match_quota_bucketChangesExactlyAtThePeriodsEnd() {
    PolicyMatcher matcher = matcher(quota("daily", CalendarPeriod.DAY, PolicyMode.ENFORCE));
    BucketRequest first = ending("daily", "acme", "2026-11-21T00:00:00Z");
    BucketRequest second = ending("daily", "acme", "2026-11-22T00:00:00Z");

    assertEquals(first, bucket(matcher, "acme", "2026-11-20T00:00:00Z"));
    assertEquals(first, bucket(matcher, "acme", "2026-11-20T23:59:59.999Z"));
    assertEquals(second, bucket(matcher, "acme", "2026-11-21T00:00:00Z"));
    assertEquals(first, bucket(matcher, "acme", "2026-11-20T23:59:59.999Z"));
    assertEquals(second, bucket(matcher, "acme", "2026-11-21T00:00:00.001Z"));
  }

  @Test
  void match_clientsWithCalendars_useTheirOwnPeriods() {
    PolicyMatcher matcher =
        PolicyMatcher.of(
            new PolicySet(
                1,
                List.of(quota("billed", CalendarPeriod.BILLING, PolicyMode.ENFORCE)),
                Clients.ofCalendars(
                    Map.of(
                        "paris", new ClientCalendar(ZoneId.of("Europe/Paris"), null),
                        "anchored", new ClientCalendar(null, LocalDate.of(2025, 1, 17))))));
    String time = "2026-11-20T12:00:00Z";

    for (int i = 0; i < 2; i++) {
      assertEquals(
          ending("billed", "paris", "2026-11-30T23:00:00Z"), bucket(matcher, "paris", time));
      assertEquals(
          ending("billed", "anchored", "2026-12-17T00:00:00Z"), bucket(matcher, "anchored", time));
      assertEquals(ending("billed", "zoo", "2026-12-01T00:00:00Z"), bucket(matcher, "zoo", time));
    }
  }

  @Test
  void match_shadowQuota_isNeverHeld() {
    PolicyMatcher matcher = matcher(quota("tried", CalendarPeriod.DAY, PolicyMode.SHADOW));

    assertFalse(bucket(matcher, "acme", "2026-11-20T12:00:00Z").held());
  }

  private static PeriodicLimit.@Nullable Span period(PolicyMatcher matcher, long nowEpochMillis) {
    return matcher.match("acme", "-", "calls", nowEpochMillis).evaluated().get(0).period();
  }

  @Test
  void period_manyThreadsAroundABoundary_agreeWithTheCalendar() throws Exception {
    Policy daily = quota("daily", CalendarPeriod.DAY, PolicyMode.ENFORCE);
    CalendarQuota quota = (CalendarQuota) daily.limit();
    PolicyMatcher matcher = matcher(daily);
    long boundary = Instant.parse("2026-11-20T00:00:00Z").toEpochMilli();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        Random random = new Random(thread);
        all.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 10_000; i++) {
                    long now = boundary + random.nextInt(-3, 3);
                    assertEquals(quota.at(now, ClientCalendar.OF_POLICY), period(matcher, now));
                  }
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void match_randomSets_agreesWithMatchingEveryPolicy() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<Policy> policies = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        List<String> patterns = new ArrayList<>();
        for (int n = random.nextInt(3); n > 0; n--) {
          patterns.add(List.of("a", "b", "ab", "a*", "*b", "*").get(random.nextInt(6)));
        }
        policies.add(enforced("p" + i, new PolicyMatch(patterns, List.of(), List.of())));
      }
      PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, policies));
      for (String client : List.of("a", "b", "ab", "abb", "c")) {
        List<String> expected =
            policies.stream().filter(p -> fits(p, client)).map(Policy::name).toList();
        assertEquals(expected, names(matcher, client), "seed " + seed + " client " + client);
      }
    }
  }

  /**
   * Compares plans, defaults, own limits and unknown clients with a simple implementation of the
   * rules.
   */
  @Test
  void match_randomPlans_agreesWithTheRules() {
    for (long seed = 0; seed < 2_000; seed++) {
      Random random = new Random(seed);
      List<Policy> policies = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        List<String> patterns =
            random.nextBoolean()
                ? List.of()
                : List.of(List.of("a", "b*", "*").get(random.nextInt(3)));
        policies.add(enforced("p" + i, new PolicyMatch(patterns, List.of(), List.of())));
      }
      Clients clients = clients(random);
      PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, policies, clients));
      for (String client : List.of("a", "b", "bb", "c")) {
        String where = "seed " + seed + " client " + client;
        ClientSettings settings = clients.settings().get(client);
        List<MatchedPolicy> matched =
            matcher.match(client, "GET /v1/items", "calls", 0).evaluated();
        if (settings == null && clients.unknown() == UnknownClients.REFUSE) {
          assertEquals(List.of("unknown-clients"), names(matcher, client), where);
          assertTrue(matched.get(0).policy().denies(), where);
          continue;
        }
        assertEquals(
            policies.stream()
                .filter(policy -> fits(policy, client) && isOfPlan(policy, clients, settings))
                .map(Policy::name)
                .toList(),
            names(matcher, client),
            where);
        for (MatchedPolicy each : matched) {
          Map<String, PolicyLimit> own = settings == null ? Map.of() : settings.limits();
          assertEquals(own.getOrDefault(each.policy().name(), LIMIT), each.policy().limit(), where);
          assertEquals(each.policy().limit(), each.bucket().limit(), where);
        }
      }
    }
  }

  private static Clients clients(Random random) {
    Map<String, Set<String>> plans = new HashMap<>();
    for (String plan : List.of("free", "pro")) {
      Set<String> names = new HashSet<>();
      for (int n = random.nextInt(4); n > 0; n--) {
        names.add("p" + random.nextInt(6));
      }
      plans.put(plan, names);
    }
    Map<String, ClientSettings> settings = new HashMap<>();
    for (String client : List.of("a", "b", "bb")) {
      if (random.nextInt(3) > 0) {
        Map<String, PolicyLimit> own =
            random.nextBoolean()
                ? Map.of()
                : Map.of("p" + random.nextInt(6), new TokenBucketLimit(99, 1, 1_000_000));
        String plan = List.of("free", "pro", "").get(random.nextInt(3));
        settings.put(
            client,
            new ClientSettings(ClientCalendar.OF_POLICY, plan.isEmpty() ? null : plan, own));
      }
    }
    return new Clients(
        settings,
        plans,
        random.nextBoolean() ? "free" : null,
        random.nextInt(4) == 0 ? UnknownClients.REFUSE : UnknownClients.ALLOW);
  }

  private static boolean isOfPlan(
      Policy policy, Clients clients, @Nullable ClientSettings settings) {
    List<String> plans = new ArrayList<>();
    clients
        .plans()
        .forEach(
            (plan, names) -> {
              if (names.contains(policy.name())) {
                plans.add(plan);
              }
            });
    String plan =
        settings == null || settings.plan() == null ? clients.defaultPlan() : settings.plan();
    return plans.isEmpty() || plans.contains(String.valueOf(plan));
  }

  private static boolean fits(Policy policy, String client) {
    List<String> patterns = policy.match().client();
    return patterns.isEmpty()
        || patterns.stream().anyMatch(p -> Pattern.matches(p.replace("*", ".*"), client));
  }
}
