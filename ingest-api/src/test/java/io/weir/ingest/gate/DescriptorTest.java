// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.weir.limits.FixedWindow;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class DescriptorTest {
  private static final long NOW = 1_000_000;
  private static final TokenBucketLimit TEN = new TokenBucketLimit(10, 1, 1_000_000);

  private static Policy policy(String name, PolicyLimit limit, String... attributes) {
    Map<String, List<String>> patterns = new HashMap<>();
    for (int i = 0; i < attributes.length; i += 2) {
      patterns.put(attributes[i], List.of(attributes[i + 1].split(",")));
    }
    return new Policy(
        name,
        new PolicyMatch(List.of(), List.of(), List.of(), List.of(), patterns),
        List.of(KeyPart.CLIENT, KeyPart.ENDPOINT),
        limit,
        PolicyMode.ENFORCE,
        CacheFailureMode.LOCAL);
  }

  private static Policy policy(String name, String... attributes) {
    return policy(name, TEN, attributes);
  }

  private static CallFacts facts(String a, String b) {
    return new CallFacts(
        "client",
        "shop;a=" + a + ";b=" + b,
        "calls",
        null,
        Map.of("envoy.domain", "shop", "envoy.descriptor", "a;b", "a", a, "b", b));
  }

  private static MatchedPolicies select(
      CallFacts facts, @Nullable PolicyLimit limit, Policy... policies) {
    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(3, List.of(policies))).match(facts, NOW);
    return new Descriptor(List.of("a", "b"), limit).select(matched, facts, NOW);
  }

  private static List<String> names(CallFacts facts, Policy... policies) {
    return select(facts, null, policies).evaluated().stream()
        .map(match -> match.policy().name())
        .toList();
  }

  @Test
  void entries_areComparedInTheirOrder_fullValuesBeforeParts_andTheseBeforeAny() {
    Policy any = policy("any", "envoy.domain", "shop");
    Policy star = policy("star", "envoy.domain", "shop", "a", "*");
    Policy part = policy("part", "envoy.domain", "shop", "a", "1*");
    Policy full = policy("full", "envoy.domain", "shop", "a", "12");
    Policy second = policy("second", "envoy.domain", "shop", "b", "x");
    Policy both = policy("both", "envoy.domain", "shop", "a", "12", "b", "x*");
    CallFacts facts = facts("12", "x");

    assertEquals(List.of("any", "star"), names(facts, any, star));
    assertEquals(List.of("part"), names(facts, any, star, part));
    Policy longer = policy("longer", "envoy.domain", "shop", "a", "x,12*");
    Policy inner = policy("inner", "envoy.domain", "shop", "a", "*12");
    assertEquals(List.of("longer"), names(facts, longer, part, inner));
    assertEquals(List.of("part"), names(facts, part, inner));
    assertEquals(List.of("full"), names(facts, longer, full));
    assertEquals(List.of("full"), names(facts, part, full, second));
    assertEquals(List.of("second"), names(facts, any, second));
    assertEquals(List.of("both"), names(facts, both, full, second));
    // those that do not match are not in question
    assertEquals(List.of("part"), names(facts("13", "x"), part, full, both));
  }

  @Test
  void keys_tellApartWhatEntriesDoNot() {
    Policy any = policy("any", "envoy.domain", "shop");
    Policy shape = policy("shape", "envoy.domain", "shop", "envoy.descriptor", "a;b");
    Policy full = policy("full", "envoy.domain", "shop", "a", "1");

    assertEquals(List.of("shape"), names(facts("1", "2"), any, shape));
    assertEquals(List.of("full"), names(facts("1", "2"), any, shape, full));
  }

  @Test
  void equallySpecificPolicies_andThoseOfAllCalls_applyTogether() {
    Policy one = policy("one", "envoy.domain", "shop", "a", "1");
    Policy other = policy("other", "envoy.domain", "*", "a", "7,1");
    Policy ofAll = policy("of-all");
    Policy byAttribute = policy("by-attribute", "a", "1");
    Policy less = policy("less", "envoy.domain", "shop");

    assertEquals(
        List.of("one", "other", "of-all", "by-attribute"),
        names(facts("1", "2"), less, one, other, ofAll, byAttribute));
    MatchedPolicies matched =
        PolicyMatcher.of(new PolicySet(3, List.of(ofAll))).match(facts("1", "2"), NOW);
    assertSame(matched, new Descriptor(List.of("a"), null).select(matched, facts("1", "2"), NOW));
  }

  @Test
  void limit_replacesThatOfPoliciesForDescriptors_inBucketsOfItsOwn() {
    Policy ofDescriptors = policy("d", "envoy.domain", "shop");
    Policy ofAll = policy("all");
    FixedWindow five = window(5);

    MatchedPolicies plain = select(facts("1", "2"), null, ofDescriptors, ofAll);
    MatchedPolicies limited = select(facts("1", "2"), five, ofDescriptors, ofAll);

    assertEquals(3, limited.policiesVersion());
    assertEquals(5, limited.evaluated().get(0).bucket().limit().capacityTokens());
    assertEquals("d", limited.evaluated().get(0).policy().name());
    // not recorded, because no version of the policies has such a limit
    assertFalse(limited.evaluated().get(0).policy().isRecorded());
    assertEquals(plain.evaluated().get(1), limited.evaluated().get(1));
    String bucket = limited.evaluated().get(0).bucket().bucket();
    assertEquals(bucket, bucketOf(facts("1", "2"), window(5), ofDescriptors));
    assertNotEquals(bucket, bucketOf(facts("1", "2"), window(6), ofDescriptors));
    assertNotEquals(bucket, bucketOf(facts("1", "3"), window(5), ofDescriptors));
    assertNotEquals(bucket, plain.evaluated().get(0).bucket().bucket());
  }

  private static String bucketOf(CallFacts facts, PolicyLimit limit, Policy policy) {
    return select(facts, limit, policy).evaluated().get(0).bucket().bucket();
  }

  @Test
  void limit_leavesDenials_andKeepsTheMode() {
    Policy denies = policy("no", TokenBucketLimit.DENY, "envoy.domain", "shop");
    Policy shadow = policy("shadow", "envoy.domain", "shop").inMode(PolicyMode.SHADOW);

    assertEquals(denies, select(facts("1", "2"), window(5), denies).evaluated().get(0).policy());
    assertFalse(select(facts("1", "2"), window(5), shadow).evaluated().get(0).bucket().enforced());
    assertEquals(
        TokenBucketLimit.DENY,
        select(facts("1", "2"), TokenBucketLimit.DENY, policy("d", "envoy.domain", "shop"))
            .evaluated()
            .get(0)
            .policy()
            .limit());
  }

  private static FixedWindow window(long tokens) {
    return new FixedWindow(tokens, 60, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
  }

  private static Policy replacing(Policy policy, String... replaces) {
    return policy.toBuilder().replaces(List.of(replaces)).build();
  }

  private static List<String> applied(Descriptor descriptor, Policy... policies) {
    CallFacts facts = facts("1", "x");
    MatchedPolicies all =
        PolicyMatcher.of(new PolicySet(3, List.of(policies))).matchAll(facts, NOW);
    return descriptor.apply(all, facts, NOW).evaluated().stream()
        .map(match -> match.policy().name())
        .toList();
  }

  /** Otherwise the less specific policies would apply, because they come first in the set. */
  @Test
  void policiesThatDoNotApply_takeNoRoomOfTheSixteen() {
    List<Policy> policies = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      policies.add(policy("general-" + i, "envoy.domain", "shop"));
      policies.add(policy("every-" + i));
      names.add("every-" + i);
    }
    Policy specific = policy("specific", "envoy.domain", "shop", "a", "1");
    policies.add(replacing(specific, names.toArray(String[]::new)));
    Descriptor descriptor = new Descriptor(List.of("a", "b"), null);

    assertEquals(List.of("specific"), applied(descriptor, policies.toArray(Policy[]::new)));
    policies.set(32, specific.inMode(PolicyMode.SHADOW));
    assertEquals(names, applied(descriptor, policies.toArray(Policy[]::new)));
  }

  /** A policy that is not specific enough does not apply, so it takes no place either. */
  @Test
  void replaced_areThoseThatAPolicyNames_whichIsSpecificEnough() {
    Policy general = replacing(policy("general", "envoy.domain", "shop"), "every");
    Policy specific = policy("specific", "envoy.domain", "shop", "a", "1");
    Policy every = policy("every");
    Descriptor descriptor = new Descriptor(List.of("a", "b"), null);

    assertEquals(List.of("general"), applied(descriptor, general, every));
    assertEquals(List.of("specific", "every"), applied(descriptor, general, specific, every));
    assertEquals(List.of("specific"), applied(descriptor, replacing(specific, "every"), every));
  }

  @Test
  void replacedByOtherDescriptors_arePoliciesForDescriptorsAlone_withoutALimitOfTheRequest() {
    Policy ofDescriptors = policy("of-descriptors", "envoy.domain", "shop");
    Policy every = policy("every");
    Set<String> both = Set.of("of-descriptors", "every");

    assertEquals(
        List.of("every"),
        applied(new Descriptor(List.of("a", "b"), null, both), ofDescriptors, every));
    assertEquals(
        List.of("of-descriptors", "every"),
        applied(new Descriptor(List.of("a", "b"), TEN, both), ofDescriptors, every));
  }
}
