// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests checks with buckets on several servers: all buckets are charged, or none. */
class ClusterLayersIT {
  private static final int CLIENTS = 9;
  private static final int THREADS = 16;
  private static final int CALLS_OF_A_THREAD = 150;
  private static final long OF_CLIENT = 200;
  private static final long OF_ENDPOINT = 300;
  private static final long OF_ALL = 900;
  private static final long ENDS_AT = 4_000_000_000_000_000L;
  private static final long HOUR_MICROS = 3_600_000_000L;

  private static ClusterFixture fixture;

  @BeforeAll
  static void start() throws Exception {
    fixture = new ClusterFixture(false);
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  private static BucketRequest quota(String key, long limit) {
    return new BucketRequest(key, new QuotaLimit(limit, ENDS_AT), true);
  }

  /**
   * The client's bucket is in the middle, so that the order of the buckets differs from the order
   * of the parts.
   */
  private static List<BucketRequest> layers(String test, int client, int endpoint) {
    return List.of(
        quota("w1:{*" + test + "-endpoint:" + endpoint + "}", OF_ENDPOINT),
        quota("w1:{" + test + client + "}:month", OF_CLIENT),
        quota("w1:{*" + test + "-all}", OF_ALL));
  }

  private static long charged(BucketRequest bucket) {
    Decision.Decided now =
        assertInstanceOf(Decision.Decided.class, fixture.cache.peek(new Check(List.of(bucket), 1)));
    return now.buckets().get(0).chargedTokens();
  }

  @Test
  void manyThreads_takeFromAllLayersOrNone_toTheToken() throws Exception {
    AtomicLongArray ofClient = new AtomicLongArray(CLIENTS);
    AtomicLongArray ofEndpoint = new AtomicLongArray(4);
    AtomicLong ofAll = new AtomicLong();
    Set<RedisDecisionCache> servers = new HashSet<>();
    layers("many", 0, 0).forEach(each -> servers.add(holder(each)));
    assertTrue(servers.size() > 1, "the layers lie on one server, by chance");
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> callers = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        Random random = new Random(thread);
        callers.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < CALLS_OF_A_THREAD; i++) {
                    int client = random.nextInt(CLIENTS);
                    int endpoint = random.nextInt(4);
                    long cost = 1L + random.nextInt(3);
                    Decision decision =
                        fixture.cache.take(new Check(layers("many", client, endpoint), cost));
                    if (decision instanceof Decision.Allowed) {
                      ofClient.addAndGet(client, cost);
                      ofEndpoint.addAndGet(endpoint, cost);
                      ofAll.addAndGet(cost);
                    } else {
                      assertInstanceOf(Decision.Denied.class, decision);
                    }
                  }
                }));
      }
      for (Future<?> caller : callers) {
        caller.get();
      }
    } finally {
      threads.shutdown();
    }

    for (int client = 0; client < CLIENTS; client++) {
      assertEquals(ofClient.get(client), charged(layers("many", client, 0).get(1)));
    }
    for (int endpoint = 0; endpoint < 4; endpoint++) {
      assertEquals(ofEndpoint.get(endpoint), charged(layers("many", 0, endpoint).get(0)));
    }
    assertEquals(ofAll.get(), charged(layers("many", 0, 0).get(2)));
    assertTrue(ofAll.get() <= OF_ALL, () -> ofAll + " of " + OF_ALL);
  }

  @Test
  void anyLayerRefuses_theOthersHaveWhatTheyHad_andTheAnswerSaysSo() {
    for (int short_ = 0; short_ < 3; short_++) {
      String test = "refuses" + short_;
      List<BucketRequest> layers = new ArrayList<>(layers(test, 1, 1));
      layers.set(short_, quota(layers.get(short_).bucket(), 2));
      assertInstanceOf(Decision.Allowed.class, fixture.cache.take(new Check(layers, 2)));

      Decision.Denied denied =
          assertInstanceOf(Decision.Denied.class, fixture.cache.take(new Check(layers, 1)));

      assertEquals(short_, denied.decidingBucket());
      assertFalse(denied.costExceedsCapacity());
      for (int i = 0; i < 3; i++) {
        BucketReply reply = denied.buckets().get(i);
        assertEquals(i != short_, reply.sufficient());
        assertFalse(reply.charged());
        assertEquals(2, reply.chargedTokens());
        assertEquals(2, charged(layers.get(i)));
      }
      Decision.Denied never =
          assertInstanceOf(Decision.Denied.class, fixture.cache.take(new Check(layers, 3)));
      assertTrue(never.costExceedsCapacity());
      assertEquals(short_, never.decidingBucket());
    }
  }

  @Test
  void givingBack_doesNotPassTheCapacity_andAShadowLayerRefusesNothing() {
    TokenBucketLimit hourly = new TokenBucketLimit(5, 1, HOUR_MICROS);
    BucketRequest all = new BucketRequest("w1:{*give-all}", hourly, true);
    BucketRequest shadow = new BucketRequest("w1:{*give-shadow}", hourly, false);
    BucketRequest client = quota("w1:{give}:month", 3);
    Check check = new Check(List.of(all, shadow, client), 4);

    Decision.Denied denied = assertInstanceOf(Decision.Denied.class, fixture.cache.take(check));
    assertEquals(5, denied.buckets().get(0).remainingTokens());
    assertEquals(5, denied.buckets().get(1).remainingTokens());
    assertEquals(0, charged(client));

    Check small = new Check(List.of(all, shadow, client), 3);
    assertInstanceOf(Decision.Allowed.class, fixture.cache.take(small));
    BucketRequest roomy = quota("w1:{give}:month", 30);
    Decision.Denied byAll =
        assertInstanceOf(
            Decision.Denied.class, fixture.cache.take(new Check(List.of(all, shadow, roomy), 3)));
    assertEquals(0, byAll.decidingBucket());
    Decision.Allowed bySome =
        assertInstanceOf(
            Decision.Allowed.class, fixture.cache.take(new Check(List.of(shadow, roomy), 3)));
    assertFalse(bySome.buckets().get(0).charged());
    assertTrue(bySome.buckets().get(1).charged());
  }

  private static Check slots(String id, long ofClient) {
    ConcurrencyLimit two = new ConcurrencyLimit(2, HOUR_MICROS);
    List<BucketRequest> buckets = new ArrayList<>();
    buckets.add(new BucketRequest("w1:{*5:slots}@slots", two, true));
    buckets.add(new BucketRequest("w1:{5:owner}:5:slots@slots", two, true));
    buckets.add(quota("w1:{5:owner}:month", ofClient));
    return new Check(buckets, 1, SlotClaim.of("owner", id));
  }

  /** Returns the numbers of free slots: the shared slots, and the client's slots. */
  private static List<Long> freeSlots() {
    Check check = slots("nobody", 100);
    Decision.Decided now =
        assertInstanceOf(
            Decision.Decided.class, fixture.cache.peek(check.of(check.buckets().subList(0, 2))));
    return now.buckets().stream().map(BucketReply::remainingTokens).toList();
  }

  private RedisDecisionCache holder(BucketRequest request) {
    return Objects.requireNonNull(fixture.cache.topology().routes().holder(request.bucket()));
  }

  @Test
  void slotsOnTwoServers_areTakenAndReleasedTogether_andGivenBackIfOneRefuses() {
    Check first = slots("first", 1);
    assertNotSame(
        holder(first.buckets().get(0)),
        holder(first.buckets().get(1)),
        "the slots lie on one server, by chance");
    assertInstanceOf(Decision.Allowed.class, fixture.cache.take(first));
    assertEquals(List.of(1L, 1L), freeSlots());

    // the client's quota is used up, so the shared slot is given back
    Decision.Denied denied =
        assertInstanceOf(Decision.Denied.class, fixture.cache.take(slots("second", 1)));
    assertEquals(2, denied.decidingBucket());
    assertEquals(List.of(1L, 1L), freeSlots());
    // a denied retry keeps the slots of the call
    assertInstanceOf(Decision.Denied.class, fixture.cache.take(first));
    assertEquals(List.of(1L, 1L), freeSlots());

    assertInstanceOf(Decision.Allowed.class, fixture.cache.take(slots("second", 9)));
    assertInstanceOf(Decision.Denied.class, fixture.cache.take(slots("third", 9)));
    for (boolean isHeld : new boolean[] {true, false}) {
      Decision.Allowed released =
          assertInstanceOf(
              Decision.Allowed.class,
              fixture.cache.submitRelease(first.of(first.buckets().subList(0, 2))).join());
      assertEquals(isHeld, released.buckets().get(0).charged());
      assertEquals(isHeld, released.buckets().get(1).charged());
      assertEquals(List.of(1L, 1L), freeSlots());
    }
  }

  @Test
  void peek_acrossServers_tellsAll_andTakesNothing() {
    Check check = new Check(layers("peek", 1, 1), 7);
    for (int i = 0; i < 3; i++) {
      Decision.Allowed peeked = assertInstanceOf(Decision.Allowed.class, fixture.cache.peek(check));
      assertEquals(OF_ENDPOINT, peeked.buckets().get(0).remainingTokens());
      assertEquals(OF_CLIENT, peeked.buckets().get(1).remainingTokens());
      assertEquals(OF_ALL, peeked.buckets().get(2).remainingTokens());
    }
  }

  @Test
  void check_isCountedOnce_howeverManyPartsItHas() {
    double asked = fixture.cache.statistics().asked.count();
    double allowed = fixture.cache.statistics().allowed.count();
    fixture.cache.take(new Check(layers("count", 1, 1), 1));
    assertEquals(asked + 1, fixture.cache.statistics().asked.count());
    assertEquals(allowed + 1, fixture.cache.statistics().allowed.count());
  }

  /**
   * Regression: a client without quota kept the shared bucket empty, although its calls were
   * denied.
   */
  @Test
  void refusedAgainAndAgain_takesNothingFromOthersOfWhatIsShared() throws Exception {
    BucketRequest all = quota("w1:{*again-all}", 1_000);
    Check attack = new Check(List.of(all, quota("w1:{again-attacker}:month", 999)), 1_000);
    assertInstanceOf(Decision.Denied.class, fixture.cache.take(attack));
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> attackers = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        attackers.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < 200; i++) {
                    assertInstanceOf(Decision.Denied.class, fixture.cache.take(attack));
                  }
                }));
      }
      for (int i = 0; i < 200; i++) {
        Check victim = new Check(List.of(all, quota("w1:{again-victim}:month", 1_000)), 1);
        assertInstanceOf(Decision.Allowed.class, fixture.cache.take(victim));
      }
      for (Future<?> attacker : attackers) {
        attacker.get();
      }
    } finally {
      threads.shutdown();
    }
    assertEquals(200, charged(all));
  }
}
