// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.BucketKey;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.IpAddress;
import io.weir.limits.IpNetwork;
import io.weir.limits.TokenBucketLimit;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Checks policies whose buckets are shared by clients, and policies that match addresses and
 * attributes.
 */
class LayersTest {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);
  private static final int SEEDS = 3_000;

  private static Policy policy(String name, PolicyMatch match, KeyPart... key) {
    return new Policy(name, match, List.of(key), LIMIT, PolicyMode.ENFORCE, CacheFailureMode.OPEN);
  }

  private static CallFacts call(String client, String endpoint, @Nullable String ip) {
    return new CallFacts(
        client, endpoint, "calls", ip == null ? null : IpAddress.parse(ip), Map.of());
  }

  private static List<String> buckets(CallFacts call, Policy... policies) {
    return matched(call, Clients.NONE, policies).stream().map(it -> it.bucket().bucket()).toList();
  }

  private static List<MatchedPolicy> matched(CallFacts call, Clients clients, Policy... policies) {
    return PolicyMatcher.of(new PolicySet(1, List.of(policies), clients))
        .match(call, 0)
        .evaluated();
  }

  @Test
  void buckets_ofEachLayer_haveTheirKeys_inTheOrderOfThePolicies() {
    assertEquals(
        List.of(
            "w1:{4:acme}:6:client",
            "w1:{*8:endpoint:13:GET /v1/items}",
            "w1:{*2:ip|203.0.113.9/32}",
            "w1:{*3:all}",
            "w1:{4:acme}:4:both:13:GET /v1/items|203.0.113.9/32"),
        buckets(
            call("acme", "GET /v1/items", "203.0.113.9"),
            policy("client", PolicyMatch.ANY, KeyPart.CLIENT),
            policy("endpoint", PolicyMatch.ANY, KeyPart.ENDPOINT),
            policy("ip", PolicyMatch.ANY, KeyPart.IP),
            policy("all", PolicyMatch.ANY),
            policy("both", PolicyMatch.ANY, KeyPart.IP, KeyPart.ENDPOINT, KeyPart.CLIENT)));
  }

  @Test
  void planOfAClient_hasABucket_thatItsClientsShare() {
    Clients clients =
        new Clients(
            Map.of(
                "a", new ClientSettings(ClientCalendar.OF_POLICY, "free", Map.of()),
                "b", new ClientSettings(ClientCalendar.OF_POLICY, "free", Map.of())),
            Map.of("free", Set.of()),
            null,
            UnknownClients.ALLOW);
    Policy perPlan = policy("p", PolicyMatch.ANY, KeyPart.PLAN);

    for (String client : List.of("a", "b")) {
      assertEquals(
          "w1:{*1:p+4:free}",
          matched(call(client, "-", null), clients, perPlan).get(0).bucket().bucket());
    }
    assertEquals(List.of(), matched(call("c", "-", null), clients, perPlan));
  }

  @Test
  void callThatGivesNoAddress_isNotOfPoliciesThatNeedOne() {
    PolicyMatch fromThere =
        new PolicyMatch(
            List.of(), List.of(), List.of(), List.of(network("203.0.113.0/24")), Map.of());
    Policy[] both = {policy("key", PolicyMatch.ANY, KeyPart.IP), policy("from", fromThere)};

    assertEquals(List.of(), buckets(call("a", "-", null), both));
    assertEquals(
        List.of("w1:{*3:key|198.51.100.1/32}"), buckets(call("a", "-", "198.51.100.1"), both));
    assertEquals(2, buckets(call("a", "-", "::ffff:203.0.113.200"), both).size());
  }

  private static IpNetwork network(String text) {
    return Objects.requireNonNull(IpNetwork.parse(text));
  }

  @Test
  void addressesOfAPrefix_shareABucket() {
    Policy networks =
        new Policy(
                "n",
                PolicyMatch.ANY,
                List.of(KeyPart.IP),
                LIMIT,
                PolicyMode.ENFORCE,
                CacheFailureMode.OPEN)
            .toBuilder().debtCapTokens(10).ipPrefix(new IpPrefix(24, 56)).build();
    assertEquals(
        List.of("w1:{*1:n|203.0.113.0/24}"), buckets(call("a", "-", "203.0.113.9"), networks));
    assertEquals(
        List.of("w1:{*1:n|2001:db8:1:200::/56}"),
        buckets(call("b", "-", "2001:db8:1:2ab::7"), networks));
  }

  /**
   * A shared limit uses the calendar of the policy. Otherwise each client's calendar would have its
   * own bucket.
   */
  @Test
  void quotaThatClientsShare_runsByThePolicysCalendar() {
    CalendarQuota daily =
        new CalendarQuota(5, CalendarPeriod.DAY, ZoneId.of("UTC"), CalendarQuota.FIRST_OF_MONTH);
    Policy shared =
        new Policy(
            "d", PolicyMatch.ANY, List.of(), daily, PolicyMode.ENFORCE, CacheFailureMode.OPEN);
    Clients clients =
        Clients.ofCalendars(Map.of("tokyo", new ClientCalendar(ZoneId.of("Asia/Tokyo"), null)));

    assertEquals(
        matched(call("a", "-", null), clients, shared).get(0).bucket().bucket(),
        matched(call("tokyo", "-", null), clients, shared).get(0).bucket().bucket());
  }

  @Test
  void whatNeedsRecords_isRefusedWhereThereAreNone() {
    for (List<KeyPart> key :
        List.of(List.<KeyPart>of(), List.of(KeyPart.IP), List.of(KeyPart.CLIENT, KeyPart.IP))) {
      Policy plain =
          new Policy("p", PolicyMatch.ANY, key, LIMIT, PolicyMode.ENFORCE, CacheFailureMode.LOCAL);
      assertFalse(plain.isRecorded());
      assertThrows(
          IllegalArgumentException.class,
          () ->
              new Policy(
                      "p", PolicyMatch.ANY, key, LIMIT, PolicyMode.ENFORCE, CacheFailureMode.LOCAL)
                  .toBuilder().debtCapTokens(0).lease(new LeaseTerms(2, 1_000_000)).build());
    }
    assertTrue(policy("p", PolicyMatch.ANY, KeyPart.ENDPOINT, KeyPart.CLIENT).isRecorded());
    assertThrows(
        IllegalArgumentException.class,
        () -> policy("p", PolicyMatch.ANY, KeyPart.ENDPOINT).withLimit(LIMIT));
    assertThrows(
        IllegalArgumentException.class,
        () -> policy("p", PolicyMatch.ANY, KeyPart.CLIENT, KeyPart.PLAN));
  }

  @Test
  void callThatNoPolicyMatches_isDeniedIfThatIsSet() {
    Policy one = policy("one", new PolicyMatch(List.of("a"), List.of(), List.of()), KeyPart.CLIENT);
    PolicyMatcher refusing =
        PolicyMatcher.of(new PolicySet(1, List.of(one), Clients.NONE, DefaultVerdict.REFUSE));

    assertEquals(one, refusing.match("a", "-", "calls", 0).evaluated().get(0).policy());
    MatchedPolicies other = refusing.match("b", "-", "calls", 0);
    assertEquals(PolicyMatcher.UNMATCHED_CALLS, Objects.requireNonNull(other.blocking()).policy());
    assertFalse(other.needsCheck());
  }

  @Test
  void unknownClients_limitedTogether_haveOneBucket_thatIsNeitherHeldNorLeasedNorRecorded() {
    Policy burst =
        new Policy(
                "burst",
                PolicyMatch.ANY,
                List.of(KeyPart.CLIENT, KeyPart.ENDPOINT),
                LIMIT,
                PolicyMode.ENFORCE,
                CacheFailureMode.LOCAL)
            .toBuilder().debtCapTokens(10).lease(new LeaseTerms(2, 1_000_000)).build();
    Policy daily =
        new Policy(
                "daily",
                PolicyMatch.ANY,
                List.of(KeyPart.CLIENT),
                new CalendarQuota(
                    5, CalendarPeriod.DAY, ZoneId.of("UTC"), CalendarQuota.FIRST_OF_MONTH),
                PolicyMode.ENFORCE,
                CacheFailureMode.LOCAL)
            .toBuilder().onColdCache(ColdCacheMode.HOLD).debtCapTokens(5).build();
    Clients clients =
        new Clients(Map.of("known", ClientSettings.NONE), Map.of(), null, UnknownClients.LIMIT);

    for (String client : List.of("made-up", "made-up-too", "*")) {
      List<MatchedPolicy> matched = matched(call(client, "GET /a", null), clients, burst, daily);
      assertEquals(
          List.of("w1:{*5:burst:6:GET /a}", "w1:{*5:daily}@86400"),
          matched.stream().map(each -> each.bucket().bucket()).toList());
      for (MatchedPolicy each : matched) {
        assertFalse(each.policy().isRecorded());
        assertFalse(each.bucket().held());
        assertEquals(null, each.policy().lease());
      }
    }
    List<MatchedPolicy> known = matched(call("known", "GET /a", null), clients, burst, daily);
    assertEquals(
        List.of("w1:{5:known}:5:burst:6:GET /a", "w1:{5:known}:5:daily@86400"),
        known.stream().map(each -> each.bucket().bucket()).toList());
    assertTrue(known.get(1).bucket().held());
  }

  /** Regression: a policy in shadow mode admitted unmatched calls. */
  @Test
  void shadowPolicy_doesNotMakeACallMatched() {
    Policy shadow = policy("s", PolicyMatch.ANY, KeyPart.CLIENT).inMode(PolicyMode.SHADOW);
    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(1, List.of(shadow), Clients.NONE, DefaultVerdict.REFUSE))
            .match("a", "-", "calls", 0);

    assertEquals(
        PolicyMatcher.UNMATCHED_CALLS, Objects.requireNonNull(matched.blocking()).policy());
  }

  /** Regression: each network was compared with each call. */
  @Test
  void randomNetworks_containWhatOneOfThemContains() {
    int contained = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      List<IpNetwork> networks = new ArrayList<>();
      for (int n = random.nextInt(6); n >= 0; n--) {
        IpAddress address = randomAddress(random);
        networks.add(address.network(random.nextInt(address.bits() + 1)));
      }
      NetworkSet set = new NetworkSet(networks);
      for (int i = 0; i < 5; i++) {
        IpAddress address = randomAddress(random);
        boolean expected = networks.stream().anyMatch(network -> network.contains(address));
        assertEquals(expected, set.contains(address), "seed " + seed + ": " + address);
        contained += expected ? 1 : 0;
      }
    }
    assertTrue(contained > SEEDS / 10, "too few to tell: " + contained);
  }

  private static IpAddress randomAddress(Random random) {
    return random.nextBoolean()
        ? new IpAddress(true, 0, random.nextLong(4) << 30)
        : new IpAddress(false, random.nextLong(4) << 62, random.nextInt(2));
  }

  @Test
  void templates_matchOneSegment_starsAnything() {
    assertTemplate("GET /v1/items/{id}", "GET /v1/items/7", "GET /v1/items/{id}");
    assertNoTemplate("GET /v1/items/{id}", "GET /v1/items/", "GET /v1/items/7/8", "GET /v1/items");
    assertTemplate("* /v1/{a}/x/{b}", "GET /v1/1/x/2", "POST /v1/x/x/x");
    assertNoTemplate("* /v1/{a}/x/{b}", "GET /v1//x/2", "GET /v1/1/2/x/3");
    assertTemplate("GET /f/{name}.json", "GET /f/a.json", "GET /f/a.b.json", "GET /f/.json.json");
    assertNoTemplate("GET /f/{name}.json", "GET /f/.json", "GET /f/a.xml");
    assertTemplate("{}/{1}", "{}/{1}");
    assertNoTemplate("{}/{1}", "a/b");
  }

  private static void assertTemplate(String pattern, String... names) {
    for (String name : names) {
      assertTrue(NamePattern.ofEndpoint(pattern).matches(name), pattern + " " + name);
    }
  }

  private static void assertNoTemplate(String pattern, String... names) {
    for (String name : names) {
      assertFalse(NamePattern.ofEndpoint(pattern).matches(name), pattern + " " + name);
    }
  }

  /** The time of matching must not depend on how much of a name almost matches. */
  @Test
  void templateThatAlmostMatches_isDecidedAtOnce() {
    String pattern = "{a}*".repeat(40) + "!";
    String name = "a".repeat(256);
    for (int i = 0; i < 100; i++) {
      assertFalse(NamePattern.ofEndpoint(pattern).matches(name));
    }
  }

  /** Compares templates with equivalent regular expressions. */
  @Test
  void randomTemplates_matchAsRegularExpressionsDo() {
    int matched = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      StringBuilder pattern = new StringBuilder();
      StringBuilder regex = new StringBuilder();
      for (int n = 1 + random.nextInt(6); n > 0; n--) {
        String part = List.of("{x}", "*", "/", "a", "b", ".").get(random.nextInt(6));
        pattern.append(part);
        regex.append(part.equals("{x}") ? "[^/]+" : part.equals("*") ? ".*" : Pattern.quote(part));
      }
      StringBuilder name = new StringBuilder();
      for (int n = random.nextInt(7); n > 0; n--) {
        name.append("ab/.".charAt(random.nextInt(4)));
      }
      boolean expected = Pattern.matches(regex.toString(), name);
      assertEquals(
          expected,
          NamePattern.ofEndpoint(pattern.toString()).matches(name.toString()),
          "seed " + seed + ": " + pattern + " on " + name);
      matched += expected ? 1 : 0;
    }
    assertTrue(matched > SEEDS / 50, "too few to tell: " + matched);
  }

  /** Compares policies with all kinds of conditions with a simple implementation of the rules. */
  @Test
  void randomPolicies_matchAndShareBucketsByTheRules() {
    int seen = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      List<Policy> policies = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        policies.add(randomPolicy("p" + i, random));
      }
      Clients clients =
          new Clients(
              Map.of("a", new ClientSettings(ClientCalendar.OF_POLICY, "free", Map.of())),
              Map.of("free", Set.of()),
              random.nextInt(3) == 0 ? "free" : null,
              UnknownClients.ALLOW);
      PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, policies, clients));
      Map<List<Object>, String> textsByIdentity = new HashMap<>();
      for (int i = 0; i < 6; i++) {
        CallFacts call = randomCall(random);
        String plan = call.client().equals("a") ? "free" : clients.defaultPlan();
        List<Policy> expected =
            policies.stream().filter(policy -> isFor(policy, call, plan)).toList();
        List<MatchedPolicy> matched = matcher.match(call, 0).evaluated();
        assertEquals(
            expected, matched.stream().map(MatchedPolicy::policy).toList(), "seed " + seed);
        for (MatchedPolicy each : matched) {
          String text = each.bucket().bucket();
          String known = textsByIdentity.put(identity(each.policy(), call, plan), text);
          assertTrue(known == null || known.equals(text), "seed " + seed + ": " + text);
          seen++;
        }
      }
      assertEquals(
          textsByIdentity.size(), Set.copyOf(textsByIdentity.values()).size(), "seed " + seed);
    }
    assertTrue(seen > SEEDS, "too few to tell: " + seen);
  }

  private static Policy randomPolicy(String name, Random random) {
    List<KeyPart> key = new ArrayList<>();
    for (KeyPart part : KeyPart.values()) {
      if (random.nextInt(3) == 0 && !(part == KeyPart.PLAN && key.contains(KeyPart.CLIENT))) {
        key.add(part);
      }
    }
    PolicyMatch match =
        new PolicyMatch(
            random.nextInt(3) > 0 ? List.of() : List.of(random.nextBoolean() ? "a" : "*b"),
            random.nextInt(3) > 0 ? List.of() : List.of("GET /{x}"),
            List.of(),
            random.nextInt(3) > 0 ? List.of() : List.of(network("10.0.0.0/8"), network("::/1")),
            random.nextInt(3) > 0 ? Map.of() : Map.of("region", List.of("eu*", "us")));
    return new Policy(name, match, key, LIMIT, PolicyMode.ENFORCE, CacheFailureMode.OPEN)
        .toBuilder()
            .debtCapTokens(10)
            .ipPrefix(new IpPrefix(random.nextBoolean() ? 32 : 8, random.nextBoolean() ? 64 : 16))
            .build();
  }

  private static CallFacts randomCall(Random random) {
    String ip =
        List.of("10.0.0.1", "10.0.1.1", "11.0.0.1", "1::1", "f::1", "").get(random.nextInt(6));
    String region = List.of("eu-1", "us", "asia", "").get(random.nextInt(4));
    return new CallFacts(
        List.of("a", "b", "ab", "*", "1:a").get(random.nextInt(5)),
        List.of("GET /1", "GET /1/2", "-", "a|10.0.0.1/32").get(random.nextInt(4)),
        "calls",
        IpAddress.parse(ip),
        region.isEmpty() ? Map.of() : Map.of("region", region));
  }

  private static boolean isFor(Policy policy, CallFacts call, @Nullable String plan) {
    PolicyMatch match = policy.match();
    String region = call.attributes().get("region");
    IpAddress ip = call.ip();
    boolean fromThere =
        match.ip().isEmpty()
            || (ip != null && (ip.isV4() ? ip.low() >>> 24 == 10 : ip.high() >= 0));
    return (match.client().isEmpty()
            || (match.client().contains("a")
                ? call.client().equals("a")
                : call.client().endsWith("b")))
        && (match.endpoint().isEmpty() || call.endpoint().equals("GET /1"))
        && fromThere
        && (match.attributes().isEmpty()
            || (region != null && (region.startsWith("eu") || region.equals("us"))))
        && (ip != null || !policy.key().contains(KeyPart.IP))
        && (plan != null || !policy.key().contains(KeyPart.PLAN));
  }

  private static List<Object> identity(Policy policy, CallFacts call, @Nullable String plan) {
    List<Object> identity = new ArrayList<>(List.of(policy.name()));
    for (KeyPart part : KeyPart.values()) {
      if (policy.key().contains(part)) {
        identity.add(
            switch (part) {
              case CLIENT -> call.client();
              case PLAN -> Objects.requireNonNull(plan);
              case ENDPOINT -> call.endpoint();
              case IP -> policy.ipPrefix().of(Objects.requireNonNull(call.ip()));
            });
      }
    }
    return identity;
  }

  /** The key of a bucket that is not recorded differs from the key of every recorded bucket. */
  @Test
  void cacheOnlyKeys_areNoKeysOfRecords() {
    for (CallFacts call : List.of(call("a", "GET /1", "10.0.0.1"), call("*", "x|y", "::1"))) {
      for (String bucket :
          buckets(
              call,
              policy("p", PolicyMatch.ANY),
              policy("q", PolicyMatch.ANY, KeyPart.ENDPOINT),
              policy("r", PolicyMatch.ANY, KeyPart.CLIENT, KeyPart.IP))) {
        assertThrows(IllegalArgumentException.class, () -> BucketKey.parse(bucket), bucket);
      }
    }
  }
}
