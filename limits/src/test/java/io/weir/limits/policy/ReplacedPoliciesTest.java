// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Checks that a policy that matches a call replaces the policies that it names. */
final class ReplacedPoliciesTest {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);

  private static final List<PolicyMode> MODES = List.of(PolicyMode.values());

  private static Policy policy(
      String name, List<String> endpoints, PolicyMode mode, String... replaces) {
    return new Policy(
            name,
            new PolicyMatch(List.of(), endpoints, List.of()),
            List.of(KeyPart.CLIENT),
            LIMIT,
            mode,
            CacheFailureMode.LOCAL)
        .toBuilder().debtCapTokens(10).replaces(List.of(replaces)).build();
  }

  private static Policy policy(String name, String... replaces) {
    return policy(name, List.of(), PolicyMode.ENFORCE, replaces);
  }

  private static List<String> names(MatchedPolicies matched) {
    return matched.evaluated().stream().map(match -> match.policy().name()).toList();
  }

  private static List<String> names(String endpoint, PolicySet set) {
    return names(PolicyMatcher.of(set).match("acme", endpoint, "calls", 0));
  }

  private static List<String> names(String endpoint, Policy... policies) {
    return names(endpoint, new PolicySet(1, List.of(policies)));
  }

  @Test
  void policyThatApplies_takesThePlaceOfAnother_onlyOfCallsToWhichBothApply() {
    Policy all = policy("all");
    Policy slow = policy("slow", List.of("GET /slow"), PolicyMode.ENFORCE, "all");

    assertEquals(List.of("slow"), names("GET /slow", all, slow));
    assertEquals(List.of("all"), names("GET /fast", all, slow));
    assertEquals(
        List.of("all", "slow"),
        names(
            PolicyMatcher.of(new PolicySet(1, List.of(all, slow)))
                .matchAll(new CallFacts("acme", "GET /slow", "calls"), 0)));
  }

  @Test
  void policyInShadow_takesThePlace_andOneThatIsOffDoesNot() {
    Policy all = policy("all");

    assertEquals(
        List.of("tried"), names("x", all, policy("tried", List.of(), PolicyMode.SHADOW, "all")));
    assertEquals(List.of("all"), names("x", all, policy("off", List.of(), PolicyMode.OFF, "all")));
  }

  @Test
  void policyWhosePlaceIsTaken_takesThatOfOthersAllTheSame() {
    assertEquals(List.of("c"), names("x", policy("a"), policy("b", "a"), policy("c", "b")));
    assertEquals(List.of(), names("x", policy("a", "b"), policy("b", "a")));
  }

  @Test
  void unmatchedCalls_areNotThoseWhosePoliciesAreReplaced() {
    PolicySet set =
        new PolicySet(
            1,
            List.of(policy("all"), policy("tried", List.of(), PolicyMode.SHADOW, "all")),
            Clients.NONE,
            DefaultVerdict.REFUSE);

    assertEquals(List.of("tried"), names("x", set));
  }

  @Test
  void policiesOfOtherPlans_takeNoPlace() {
    PolicySet set =
        new PolicySet(
            1,
            List.of(policy("all"), policy("pro", "all")),
            new Clients(Map.of(), Map.of("pro", Set.of("pro")), null, UnknownClients.ALLOW));

    assertEquals(List.of("all"), names("x", set));
  }

  @Test
  void replacedPolicies_takeNoRoomOfTheSixteen() {
    List<Policy> policies = new ArrayList<>();
    String[] names = IntStream.range(0, 20).mapToObj(i -> "p" + i).toArray(String[]::new);
    for (String name : names) {
      policies.add(policy(name));
    }
    policies.add(policy("instead", names));
    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(1, policies)).match("acme", "x", "calls", 0);

    assertEquals(List.of("instead"), names(matched));
    assertEquals(List.of(), matched.leftOut());
  }

  @Test
  void policyInShadow_thatTakesThePlaceOfAnEnforcedOne_isNamed() {
    Policy tried = policy("tried", List.of(), PolicyMode.SHADOW, "all", "off");
    Policy off = policy("off", List.of(), PolicyMode.OFF);

    assertEquals(
        List.of("is in shadow mode, but replaces 'all', so no policy limits the calls"),
        PolicyAdvice.of(new PolicySet(1, List.of(policy("all"), tried, off))).stream()
            .map(PolicyAdvice.Advice::text)
            .toList());
    assertEquals(
        List.of(),
        PolicyAdvice.of(new PolicySet(1, List.of(policy("all"), policy("tried", "all"), off))));
  }

  @Test
  void copies_keepWhatTheyReplace() {
    Policy policy = policy("a", "b");

    assertEquals(List.of("b"), policy.inMode(PolicyMode.SHADOW).replaces());
    assertEquals(List.of("b"), policy.shared().replaces());
    assertEquals(List.of("b"), policy.withLimit(new TokenBucketLimit(5, 1, 1)).replaces());
    assertThrows(IllegalArgumentException.class, () -> policy("a", "a"));
  }

  /** Compares the result with loops over all policies. */
  @Test
  void randomSets_matchAsByTheSlowWay() {
    int replaced = 0;
    for (long seed = 0; seed < 2_000; seed++) {
      Random random = new Random(seed);
      List<Policy> policies = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        List<String> others = new ArrayList<>();
        for (int j = 0; j < 8; j++) {
          if (j != i && random.nextInt(6) == 0) {
            others.add("p" + j);
          }
        }
        policies.add(
            policy(
                "p" + i,
                random.nextBoolean() ? List.of() : List.of("e" + random.nextInt(2)),
                MODES.get(random.nextInt(3)),
                others.toArray(String[]::new)));
      }
      for (String endpoint : List.of("e0", "e1", "e2")) {
        List<String> slow = slowly(endpoint, policies);
        assertEquals(slow, names(endpoint, new PolicySet(1, policies)), "seed " + seed);
        replaced += slow.size() < 4 ? 1 : 0;
      }
    }
    assertTrue(replaced > 1_000, "too few to tell: " + replaced);
    assertFalse(replaced == 6_000, "too many to tell");
  }

  private static List<String> slowly(String endpoint, List<Policy> policies) {
    List<String> names = new ArrayList<>();
    for (Policy policy : policies) {
      boolean stays = applies(endpoint, policy);
      for (Policy other : policies) {
        stays &= !applies(endpoint, other) || !other.replaces().contains(policy.name());
      }
      if (stays) {
        names.add(policy.name());
      }
    }
    return names;
  }

  private static boolean applies(String endpoint, Policy policy) {
    return policy.mode() != PolicyMode.OFF
        && (policy.match().endpoint().isEmpty() || policy.match().endpoint().contains(endpoint));
  }
}
