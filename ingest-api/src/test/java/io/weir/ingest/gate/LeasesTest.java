// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketState;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Calls that are decided by tokens which the node has taken in advance. */
final class LeasesTest {
  private static final long LENGTH_MICROS = 200_000;
  private static final TokenBucketLimit HUNDRED = new TokenBucketLimit(100, 10, 1_000_000);

  private final KeptCalls log = new KeptCalls();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<Timed> timers = new ArrayList<>();
  private final List<Check> asked = new ArrayList<>();
  private MemoryDecisionCache cache = new MemoryDecisionCache(this::nowMicros);
  private @Nullable CompletableFuture<Decision> held;
  private long nowMicros = 1_800_000_000_000_000L;

  private record Timed(long atNanos, Runnable task) {}

  private long nowMicros() {
    return nowMicros;
  }

  private Leases leases() {
    return leases(1);
  }

  private Leases leases(int leastCalls) {
    return new Leases(
        this::ask,
        log::begin,
        leastCalls,
        () -> nowMicros * 1_000,
        (nanos, task) -> timers.add(new Timed(nowMicros * 1_000 + nanos, task)),
        registry);
  }

  private CompletableFuture<Decision> ask(Check check) {
    asked.add(check);
    return held != null ? held : cache.submit(check);
  }

  private static Policy policy(String name, TokenBucketLimit limit, @Nullable LeaseTerms lease) {
    return new Policy(
            name,
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            limit,
            PolicyMode.ENFORCE,
            CacheFailureMode.OPEN)
        .toBuilder().lease(lease).build();
  }

  private static Policy leased(String name, long tokens) {
    return policy(name, HUNDRED, new LeaseTerms(tokens, LENGTH_MICROS));
  }

  private CheckGate gate(Leases leases, Policy... policies) {
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, List.of(policies)));
    return new CheckGate(
        () -> matcher,
        cache,
        new LocalDecider(1, this::nowMicros),
        log,
        () -> "made",
        leases,
        registry);
  }

  private CallEvent call(CheckGate gate, long cost) {
    log.nowEpochMillis = nowMicros / 1_000;
    Call call = new Call("acme", "GET /v1/items", CallEvent.DEFAULT_METER, cost, null, null);
    return ((CheckOutcome.Decided) gate.check(call)).call();
  }

  /** Lets time pass, and runs the timers that are due. */
  private void pass(long micros) {
    nowMicros += micros;
    List<Timed> due =
        timers.stream().filter(timed -> timed.atNanos() <= nowMicros * 1_000).toList();
    timers.removeAll(due);
    due.forEach(timed -> timed.task().run());
  }

  private static Stamp stamp(CallEvent call) {
    Stamp stamp = call.charges().get(0).stamp();
    assertNotNull(stamp);
    return stamp;
  }

  private static List<DecidedBy> by(List<CallEvent> calls) {
    return calls.stream().map(CallEvent::decidedBy).toList();
  }

  @Test
  void bucketInUse_isLeasedFrom_asMuchAsWasUsed_andEachTokenHasItsPlace() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      calls.add(call(gate, 1));
    }

    // two calls query the cache; then a lease of two tokens pays off
    assertEquals(
        List.of(DecidedBy.CACHE, DecidedBy.CACHE, DecidedBy.LEASE, DecidedBy.LEASE), by(calls));
    assertEquals(2, asked.get(0).cost());
    assertEquals(
        List.of(1L, 2L, 3L, 4L), calls.stream().map(call -> stamp(call).charged()).toList());
    // as if the cache had been queried for each call
    for (int i = 0; i < 4; i++) {
      assertEquals(nowMicros + (i + 1) * 100_000L, stamp(calls.get(i)).fullAtEpochMicros());
    }
  }

  @Test
  void bucketOfFewCalls_isNotLeasedFrom() {
    CheckGate gate = gate(leases(4), leased("burst", 50));
    for (int i = 0; i < 30; i++) {
      assertEquals(DecidedBy.CACHE, call(gate, 2).decidedBy());
      pass(i % 3 == 2 ? LENGTH_MICROS : 0);
    }
    assertEquals(List.of(), asked);

    pass(2 * LENGTH_MICROS);
    for (int i = 0; i < 4; i++) {
      call(gate, 1);
    }
    assertEquals(DecidedBy.LEASE, call(gate, 1).decidedBy());
  }

  @Test
  void leaseThatIsLow_isFollowedByAnother_beforeItIsUsedUp() {
    CheckGate gate = gate(leases(), leased("burst", 8));
    for (int i = 0; i < 60; i++) {
      pass(1_000);
      CallEvent call = call(gate, 1);
      assertEquals(i < 2 ? DecidedBy.CACHE : DecidedBy.LEASE, call.decidedBy(), "call " + i);
    }
    assertTrue(asked.size() < 20, "asked " + asked.size());
    assertTrue(asked.stream().allMatch(check -> check.cost() <= 8));
  }

  @Test
  void call_isDatedWhenTheTokensWereTaken_andTheWatermarkIsHeldSinceThen() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    call(gate, 1);
    call(gate, 1);
    long takenMillis = nowMicros / 1_000;
    assertEquals(1, log.underWay(), "the lease");

    pass(LENGTH_MICROS - 1_000);
    CallEvent late = call(gate, 1);

    assertEquals(DecidedBy.LEASE, late.decidedBy());
    assertEquals(takenMillis, late.decidedAtEpochMillis());
  }

  @Test
  void endedLease_givesNoTokens_holdsNoWatermark() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    call(gate, 1);
    call(gate, 1);

    nowMicros += LENGTH_MICROS;
    held = CompletableFuture.completedFuture(new Decision.Undecided(Cause.UNAVAILABLE, ""));
    assertEquals(DecidedBy.CACHE, call(gate, 1).decidedBy(), "also before its timer has run");
    assertEquals(1, log.underWay());
    pass(0);

    assertEquals(0, log.underWay());
    assertEquals(2, registry.get("weir.lease.tokens").counter().count());
    assertEquals(2, registry.get("weir.lease.tokens.unused").counter().count());
  }

  @Test
  void leaseThatIsUsedUp_holdsNothing() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    call(gate, 1);
    call(gate, 1);
    held = CompletableFuture.completedFuture(new Decision.Undecided(Cause.UNAVAILABLE, ""));

    assertEquals(DecidedBy.LEASE, call(gate, 2).decidedBy());

    assertEquals(0, log.underWay());
    pass(LENGTH_MICROS);
    assertEquals(0, registry.get("weir.lease.tokens.unused").counter().count());
  }

  @Test
  void callThatIsNotRecordedYet_holdsTheWatermarkBeyondTheEndOfTheLease() {
    Leases leases = leases();
    MatchedPolicies matched = matched(leased("burst", 50));
    leases.noteAllowed(matched, 5);
    LeasedBuckets.Taken taken = leases.take(matched, 2);
    assertNotNull(taken);

    pass(LENGTH_MICROS);
    assertEquals(1, log.underWay());
    assertNull(leases.take(matched, 1));

    taken.ticket().abandon();
    assertEquals(0, log.underWay());
  }

  private MatchedPolicies matched(Policy... policies) {
    return PolicyMatcher.of(new PolicySet(1, List.of(policies)))
        .match("acme", "GET /v1/items", CallEvent.DEFAULT_METER, nowMicros / 1_000);
  }

  @Test
  void policyWithoutALease_keepsTheCallFromBeingDecidedByOne() {
    CheckGate gate = gate(leases(), leased("burst", 50), policy("plain", HUNDRED, null));
    for (int i = 0; i < 5; i++) {
      assertEquals(DecidedBy.CACHE, call(gate, 1).decidedBy());
    }
    assertEquals(List.of(), asked);
  }

  @Test
  void severalBuckets_areLeasedFromTogether_byTheTermsThatAllPermit() {
    CheckGate gate = gate(leases(), leased("burst", 10), leased("small", 3));
    call(gate, 2);
    call(gate, 2);
    CallEvent call = call(gate, 2);

    assertEquals(List.of(2L, 3L), asked.stream().map(Check::cost).toList().subList(0, 2));
    assertEquals(2, asked.get(0).buckets().size());
    assertEquals(DecidedBy.LEASE, call.decidedBy());
    assertEquals(2, call.charges().size());
    for (Charge charge : call.charges()) {
      // one moment for all buckets, or a counter would seem to go back in time
      Stamp stamp = charge.stamp();
      assertNotNull(stamp);
      assertEquals(call.decidedAtEpochMillis(), nowMicros / 1_000);
    }
  }

  @Test
  void callsOfOtherPolicies_haveLeasesOfTheirOwn() {
    Leases leases = leases();
    leases.noteAllowed(matched(leased("burst", 50)), 10);
    leases.noteAllowed(matched(leased("burst", 50), leased("other", 50)), 4);

    assertEquals(List.of(10L, 4L), asked.stream().map(Check::cost).toList());
    assertNull(leases.take(matched(leased("other", 50)), 1));
    assertNull(leases.take(matched(leased("burst", 50), leased("other", 50)), 5));
    assertNotNull(leases.take(matched(leased("burst", 50), leased("other", 50)), 4));
    assertNotNull(leases.take(matched(leased("burst", 50)), 10));
  }

  @Test
  void refusedLease_isNotRequestedForAWhile() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    Decision unused = cache.take(matched(leased("burst", 50)).check(97));
    call(gate, 2);
    assertEquals(1, asked.size(), "for 2, of which the bucket holds 1");

    for (int i = 0; i < 10; i++) {
      assertEquals(DecidedBy.CACHE, call(gate, 1).decidedBy());
    }
    assertEquals(1, asked.size());
    assertEquals(0, log.underWay());

    pass(LENGTH_MICROS);
    call(gate, 1);
    call(gate, 1);
    assertTrue(asked.size() > 1);
  }

  @Test
  void leaseThatIsNotAnswered_holdsNothingOnceThatIsKnown() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    held = new CompletableFuture<>();
    call(gate, 5);
    assertEquals(1, log.underWay());

    held.complete(new Decision.Undecided(Cause.TIMEOUT, "late"));

    assertEquals(0, log.underWay());
    assertEquals(DecidedBy.CACHE, call(gate, 1).decidedBy());
  }

  @Test
  void lateLease_endsAtOnce() {
    CheckGate gate = gate(leases(), leased("burst", 50));
    held = new CompletableFuture<>();
    call(gate, 5);
    Decision late = cache.take(asked.get(0));
    pass(LENGTH_MICROS);

    held.complete(late);

    assertEquals(0, log.underWay());
    assertEquals(DecidedBy.CACHE, call(gate, 1).decidedBy());
    assertEquals(5, registry.get("weir.lease.tokens.unused").counter().count());
  }

  @Test
  void otherLimitOfTheBucket_hasNoShareInItsLeases() {
    Leases leases = leases();
    leases.noteAllowed(matched(leased("burst", 50)), 10);
    TokenBucketLimit other = new TokenBucketLimit(200, 10, 1_000_000);

    assertNull(leases.take(matched(policy("burst", other, new LeaseTerms(50, LENGTH_MICROS))), 1));
    assertNotNull(leases.take(matched(leased("burst", 50)), 1));
  }

  /** Regression: such a ticket stayed, and the low watermark lagged for ever. */
  @Test
  void faults_leaveNoTicket() {
    MatchedPolicies matched = matched(leased("burst", 50));
    Leases noTimer =
        new Leases(
            this::ask,
            log::begin,
            1,
            () -> nowMicros * 1_000,
            (nanos, task) -> {
              throw new OutOfMemoryError("unable to create native thread");
            },
            registry);
    noTimer.noteAllowed(matched, 5);
    assertEquals(0, log.underWay());

    Leases noCache =
        new Leases(
            check -> {
              throw new IllegalStateException("nothing expected this");
            },
            log::begin,
            1,
            () -> nowMicros * 1_000,
            (nanos, task) -> timers.add(new Timed(nowMicros * 1_000 + nanos, task)),
            registry);
    assertThrows(IllegalStateException.class, () -> noCache.noteAllowed(matched, 5));
    assertEquals(0, log.underWay());
  }

  @Test
  void callDearerThanALease_isNotLeasedFor() {
    CheckGate gate = gate(leases(4), leased("burst", 50));
    for (int i = 0; i < 5; i++) {
      call(gate, 15);
    }

    assertEquals(List.of(), asked, "50 tokens suffice for three of them");
  }

  @Test
  void close_endsAllLeases_alsoRequestedLeases() {
    Leases leases = leases();
    leases.noteAllowed(matched(leased("burst", 50)), 10);
    held = new CompletableFuture<>();
    leases.noteAllowed(matched(leased("other", 50)), 10);
    assertEquals(2, log.underWay());

    leases.close();
    held.complete(cache.take(asked.get(1)));

    assertEquals(0, log.underWay());
    assertNull(leases.take(matched(leased("burst", 50)), 1));
    leases.noteAllowed(matched(leased("burst", 50)), 10);
    assertEquals(2, asked.size());
  }

  /**
   * Against the slow, obvious way: the calls of a lease are charged one by one at the moment at
   * which it was taken, in their order. Every stamp must be what the cache would have said; the
   * time to full may be later by a tick, and no two calls may have the same tokens.
   */
  @Test
  void randomHistories_areAsWithoutLeases() {
    for (long seed = 1; seed <= 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      TokenBucketLimit limit =
          new TokenBucketLimit(
              random.nextLong(10, 400), random.nextLong(1, 50), random.nextLong(1_000, 3_000_000));
      cache = new MemoryDecisionCache(this::nowMicros);
      asked.clear();
      timers.clear();
      Leases leases = leases();
      LeaseTerms terms =
          new LeaseTerms(
              random.nextLong(2, limit.capacityTokens() / 2 + 1),
              random.nextLong(1_000, LENGTH_MICROS));
      CheckGate gate = gate(leases, policy("burst", limit, terms));
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        pass(random.nextInt(4) == 0 ? random.nextLong(0, 300_000) : random.nextLong(0, 5_000));
        CallEvent call = call(gate, random.nextLong(1, 4));
        if (call.allowed()) {
          calls.add(call);
        }
      }
      assertEquals(
          calls.size(),
          calls.stream()
              .map(call -> stamp(call).epoch() + " " + stamp(call).charged())
              .distinct()
              .count(),
          "seed " + seed);
      assertAsCharged(calls, limit, "seed " + seed);
      leases.close();
      assertEquals(0, log.underWay(), "seed " + seed);
    }
  }

  private static void assertAsCharged(List<CallEvent> calls, TokenBucketLimit limit, String seed) {
    BucketArithmetic arithmetic = limit.arithmetic();
    long tick = arithmetic.parameters().tickMicros();
    Map<Long, List<CallEvent>> byEpoch = new HashMap<>();
    calls.forEach(
        call -> byEpoch.computeIfAbsent(stamp(call).epoch(), none -> new ArrayList<>()).add(call));
    boolean anyLeased = false;
    for (List<CallEvent> epoch : byEpoch.values()) {
      epoch.sort((a, b) -> Long.compare(stamp(a).charged(), stamp(b).charged()));
      long before = 0;
      for (CallEvent call : epoch) {
        Charge charge = call.charges().get(0);
        assertTrue(stamp(call).charged() - charge.cost() >= before, seed + ": " + call);
        before = stamp(call).charged();
        anyLeased |= call.decidedBy() == DecidedBy.LEASE;
        long missing = stamp(call).fullAtEpochMicros() - call.decidedAtEpochMillis() * 1_000;
        long longest = arithmetic.fillMicros() + tick + 1_000;
        assertTrue(missing > 0 && missing <= longest, seed + ": " + call);
      }
    }
    assertTrue(anyLeased || calls.size() < 20, seed);
  }

  @Test
  void replyOfALease_isThatOfTheCacheForTheSameTokens() {
    Leases leases = leases();
    MatchedPolicies matched = matched(leased("burst", 40));
    leases.noteAllowed(matched, 40);
    held = new CompletableFuture<>(); // no other
    BucketArithmetic arithmetic = HUNDRED.arithmetic();
    BucketState state = arithmetic.refill(null, nowMicros);
    for (int i = 0; i < 13; i++) {
      LeasedBuckets.Taken taken = leases.take(matched, 3);
      assertNotNull(taken);
      BucketReply reply = taken.reply(0);
      state = arithmetic.charge(state, 3, nowMicros);
      assertEquals(arithmetic.remainingTokens(state), reply.remainingTokens());
      assertEquals(arithmetic.resetMicros(state, nowMicros), reply.resetMicros());
      assertEquals(state.chargedTokens(), reply.chargedTokens());
      assertFalse(reply.epoch() == 0);
    }
    assertNull(leases.take(matched, 3), "one is left");
  }
}
