// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.ClientCalendar;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import io.weir.topics.model.CallEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Calls with an API key: finding their client, and refusing unknown keys. */
final class KeyedCallTest {
  private static final int SEEDS = 500;
  private static final long NOW = 1_800_000_000_000L;

  private static final Policy WIDE =
      new Policy(
          "wide",
          PolicyMatch.ANY,
          List.of(KeyPart.CLIENT),
          new TokenBucketLimit(1_000_000, 1, 1_000_000),
          PolicyMode.ENFORCE,
          CacheFailureMode.OPEN);

  private final KeptCalls log = new KeptCalls();
  private final SwitchedCache cache = new SwitchedCache(new MemoryDecisionCache(() -> NOW * 1_000));
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private PolicyMatcher inForce = PolicyMatcher.of(PolicySet.EMPTY);
  private int snapshots;

  private final CheckGate gate =
      new CheckGate(
          () -> {
            snapshots++;
            return inForce;
          },
          cache,
          new LocalDecider(1, () -> NOW * 1_000),
          log,
          () -> "made",
          null,
          registry);

  private static PolicyMatcher matcher(long version, Map<String, List<ApiKey>> keys) {
    Map<String, ClientSettings> settings = new HashMap<>();
    keys.forEach(
        (client, own) ->
            settings.put(
                client, new ClientSettings(ClientCalendar.OF_POLICY, null, Map.of(), own)));
    return PolicyMatcher.of(
        new PolicySet(
            version, List.of(WIDE), new Clients(settings, Map.of(), null, UnknownClients.ALLOW)));
  }

  private static ApiKey key(String text, long expiresAtEpochMillis) {
    return new ApiKey("k", ApiKeyHash.of(text), expiresAtEpochMillis);
  }

  private static KeyedCall call(String key, long cost) {
    return new KeyedCall(ApiKeyHash.of(key), "GET /x", "tokens", null, Map.of(), cost, "7");
  }

  private double refused(String reason) {
    return registry.get("weir.api.keys.refused").tag("reason", reason).counter().count();
  }

  @Test
  void check_byAKey_isDecidedAndRecordedAsACallOfItsClient() {
    inForce = matcher(3, Map.of("acme", List.of(key("a", ApiKey.NEVER))));

    CheckOutcome.Decided decided =
        assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("a", 5)));

    CallEvent byName =
        ((CheckOutcome.Decided) gate.check(new Call("acme", "GET /x", "tokens", 5, "7", null)))
            .call();
    assertEquals(byName.client(), decided.call().client());
    assertEquals("GET /x", log.calls.get(0).endpoint());
    assertEquals("tokens", log.calls.get(0).meter());
    assertEquals(5, log.calls.get(0).cost());
    assertEquals("7", log.calls.get(0).id());
    assertEquals(3, log.calls.get(0).policiesVersion());
    // one bucket, however the client is identified
    assertEquals(byName.charges().get(0).bucket(), log.calls.get(0).charges().get(0).bucket());
    assertEquals(2, snapshots);
  }

  /** The cache would never reply, so it was not queried. */
  @Test
  void unknownOrExpired_isRefused_withoutTheCache_withoutARecord() {
    cache.pending = new CompletableFuture<>();
    inForce = matcher(1, Map.of("acme", List.of(key("old", NOW))));

    for (String key : List.of("none", "old")) {
      assertEquals(CheckOutcome.KeyRefused.INSTANCE, gate.check(call(key, 1)));
      assertEquals(CheckOutcome.KeyRefused.INSTANCE, gate.peek(call(key, 1)));
      assertEquals(
          List.of(CheckOutcome.KeyRefused.INSTANCE, CheckOutcome.KeyRefused.INSTANCE),
          gate.check(List.of(call(key, 1), call(key, 1))));
    }

    assertEquals(List.of(), log.calls);
    assertEquals(0, log.underWay());
    assertEquals(4, refused("unknown"));
    assertEquals(4, refused("expired"));
  }

  /** Also when the clock is set back: then it is accepted again, as by any node with that clock. */
  @Test
  void key_isAcceptedUntilTheMillisecondBeforeItExpires() {
    inForce = matcher(1, Map.of("acme", List.of(key("a", NOW + 1))));
    log.nowEpochMillis = NOW;
    assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("a", 1)));
    log.nowEpochMillis = NOW + 1;
    assertEquals(CheckOutcome.KeyRefused.INSTANCE, gate.check(call("a", 1)));
    log.nowEpochMillis = NOW;
    assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("a", 1)));
  }

  /** A client that is deleted and created again has none of its old keys. */
  @Test
  void key_worksForAsLongAsItIsInTheSet() {
    inForce = matcher(1, Map.of("acme", List.of(key("a", ApiKey.NEVER), key2("b"))));
    assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("a", 1)));
    assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("b", 1)));
    inForce = matcher(2, Map.of("acme", List.of()));
    assertEquals(CheckOutcome.KeyRefused.INSTANCE, gate.check(call("a", 1)));
    inForce = matcher(3, Map.of("other", List.of(key("a", ApiKey.NEVER))));
    assertInstanceOf(CheckOutcome.Decided.class, gate.check(call("a", 1)));
    assertEquals("other", log.last().client());
    assertEquals(3, log.last().policiesVersion());
  }

  private static ApiKey key2(String text) {
    return new ApiKey("k2", ApiKeyHash.of(text), ApiKey.NEVER);
  }

  /** Random sets, keys and clocks against a search, through single checks, peeks and batches. */
  @Test
  void outcomes_areThoseOfASearch_inTheOrderOfTheBatch() {
    int decided = 0;
    int refused = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      Map<String, List<ApiKey>> keys = keys(random);
      inForce = matcher(seed, keys);
      log.nowEpochMillis = NOW + random.nextInt(4);
      List<CallRequest> batch = new ArrayList<>();
      List<String> expected = new ArrayList<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        boolean isNamed = random.nextInt(3) == 0;
        String asked = "key" + random.nextInt(8);
        batch.add(isNamed ? new Call("named", "-", "calls", 1, null, null) : call(asked, 1 + i));
        expected.add(isNamed ? "named" : owner(keys, asked, log.nowEpochMillis));
      }
      log.calls.clear();
      List<String> clients = gate.check(batch).stream().map(KeyedCallTest::client).toList();
      assertEquals(expected, clients, "seed " + seed);
      List<String> recorded = log.calls.stream().map(CallEvent::client).toList();
      List<String> served = expected.stream().filter(client -> !client.isEmpty()).toList();
      assertEquals(served, recorded, "seed " + seed);
      int one = random.nextInt(batch.size());
      assertEquals(expected.get(one), client(gate.check(batch.get(one))), "seed " + seed);
      assertEquals(expected.get(one), client(gate.peek(batch.get(one))), "seed " + seed);
      assertEquals(0, log.underWay(), "seed " + seed);
      decided += served.size();
      refused += expected.size() - served.size();
    }
    assertTrue(decided > SEEDS && refused > SEEDS / 2, decided + " and " + refused);
  }

  private static Map<String, List<ApiKey>> keys(Random random) {
    Map<String, List<ApiKey>> keys = new HashMap<>();
    for (int i = 0; i < 8; i++) {
      if (random.nextBoolean()) {
        long expires = random.nextBoolean() ? ApiKey.NEVER : NOW + random.nextInt(4);
        keys.computeIfAbsent("client" + random.nextInt(3), client -> new ArrayList<>())
            .add(new ApiKey("k" + i, ApiKeyHash.of("key" + i), expires));
      }
    }
    return keys;
  }

  /** Returns the client that a key belongs to; an empty text if it is not accepted. */
  private static String owner(Map<String, List<ApiKey>> keys, String asked, long now) {
    for (Map.Entry<String, List<ApiKey>> own : keys.entrySet()) {
      for (ApiKey key : own.getValue()) {
        if (key.sha256().equals(ApiKeyHash.of(asked)) && now < key.expiresAtEpochMillis()) {
          return own.getKey();
        }
      }
    }
    return "";
  }

  private static @Nullable String client(CheckOutcome outcome) {
    return outcome instanceof CheckOutcome.Decided decided ? decided.call().client() : "";
  }
}
