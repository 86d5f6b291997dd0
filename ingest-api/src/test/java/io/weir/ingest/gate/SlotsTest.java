// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.ClientCalendar;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.limits.check.Decision.StillDenied.Shortage;
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
import io.weir.topics.model.DecidedBy;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Slots from the check to their release: in the cache, on the node, under changing policies. */
final class SlotsTest {
  private static final ConcurrencyLimit TWO = new ConcurrencyLimit(2, 30_000_000);
  private static final ConcurrencyLimit ONE_HOUR = new ConcurrencyLimit(1, 3_600_000_000L);

  private final KeptCalls log = new KeptCalls();
  private final MemoryDecisionCache redis = new MemoryDecisionCache(this::nowMicros);
  private final SwitchedCache cache = new SwitchedCache(redis);
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private PolicyMatcher policies = matcher(policy("reports", TWO, CacheFailureMode.LOCAL));
  private int made;
  private final CheckGate gate =
      new CheckGate(
          () -> policies,
          cache,
          new LocalDecider(2, this::nowMicros),
          log,
          () -> "made-" + made++,
          null,
          registry);

  private long nowMicros() {
    return log.nowEpochMillis * 1_000;
  }

  private static Policy policy(String name, ConcurrencyLimit limit, CacheFailureMode failure) {
    return policy(name, List.of(KeyPart.CLIENT), limit, PolicyMode.ENFORCE, failure);
  }

  private static Policy policy(
      String name,
      List<KeyPart> key,
      ConcurrencyLimit limit,
      PolicyMode mode,
      CacheFailureMode failure) {
    return new Policy(name, PolicyMatch.ANY, key, limit, mode, failure);
  }

  private static PolicyMatcher matcher(Policy... policies) {
    return PolicyMatcher.of(new PolicySet(1, List.of(policies)));
  }

  private CheckOutcome.Decided check(String client, @Nullable String id) {
    return assertInstanceOf(
        CheckOutcome.Decided.class, gate.check(new Call(client, "-", "calls", 9, id, null)));
  }

  private SlotToken held(String id) {
    return held("acme", id);
  }

  private SlotToken held(String client, String id) {
    CheckOutcome.Decided decided = check(client, id);
    assertTrue(decided.call().allowed(), () -> "denied: " + decided);
    return Objects.requireNonNull(decided.slots()).token();
  }

  private void denied(String id) {
    CheckOutcome.Decided decided = check("acme", id);
    assertFalse(decided.call().allowed());
    assertNull(decided.slots());
    assertEquals(List.of("reports"), Objects.requireNonNull(decided.denial()).violated());
  }

  private SlotOutcome renew(SlotToken token) {
    return gate.slots().renew(token).join();
  }

  private SlotToken renewed(SlotToken token, DecidedBy by) {
    SlotOutcome.Renewed renewed = assertInstanceOf(SlotOutcome.Renewed.class, renew(token));
    assertEquals(by, renewed.decidedBy());
    return renewed.token();
  }

  private SlotOutcome release(SlotToken token) {
    return gate.slots().release(token).join();
  }

  private double count(String metric, String tag, String value) {
    return registry.get(metric).tag(tag, value).counter().count();
  }

  @Test
  void slot_isHeldByOneCall_untilItIsReleased() {
    CheckOutcome.Decided first = check("acme", "a");
    HeldSlots slots = Objects.requireNonNull(first.slots());
    assertEquals(30_000_000, slots.leaseMicros());
    assertEquals(SlotClaim.of("acme", "a").until(nowMicros() + 30_000_000), slots.token().claim());
    assertEquals(List.of(), first.call().charges());
    SlotToken b = held("b");
    denied("c");
    // the same call again, as after a lost answer
    assertEquals(slots.token(), held("a"));

    assertEquals(new SlotOutcome.Released(true), release(slots.token()));
    assertEquals(new SlotOutcome.Released(false), release(slots.token()));
    held("c");
    denied("d");
    assertEquals(new SlotOutcome.Released(true), release(b));
    assertEquals(3, count("weir.slots", "change", "acquired"));
    assertEquals(2, count("weir.slots", "change", "released"));
  }

  @Test
  void callWithoutAnId_holdsItsSlotByTheIdThatIsRecorded() {
    CheckOutcome.Decided decided = check("acme", null);
    assertEquals("made-0", decided.call().id());
    assertFalse(decided.call().idFromCaller());
    assertEquals(
        SlotClaim.of("acme", "made-0").holder(),
        Objects.requireNonNull(decided.slots()).token().claim().holder());
    check("acme", null);
    denied("c");
  }

  @Test
  void sharedSlots_sameIdOfTwoClients_areTwoHolders() {
    policies =
        matcher(policy("reports", List.of(), TWO, PolicyMode.ENFORCE, CacheFailureMode.LOCAL));
    SlotToken acme = held("acme", "1");
    SlotToken globex = held("globex", "1");
    assertEquals(acme.keys(), globex.keys());
    denied("2");
    assertEquals(new SlotOutcome.Released(true), release(acme));
    assertEquals(new SlotOutcome.Released(false), release(acme));
    renewed(globex, DecidedBy.CACHE);
  }

  @Test
  void batchWithAnIdTwice_holdsOneSlot() {
    Call call = new Call("acme", "-", "calls", 1, "a", null);
    List<CheckOutcome> outcomes = gate.check(List.of(call, call));
    for (CheckOutcome outcome : outcomes) {
      HeldSlots slots = assertInstanceOf(CheckOutcome.Decided.class, outcome).slots();
      assertEquals(
          SlotClaim.of("acme", "a").holder(),
          Objects.requireNonNull(slots).token().claim().holder());
    }
    assertEquals(1, count("weir.slots", "change", "acquired"));
    held("b");
    denied("c");
  }

  @Test
  void renewal_holdsTheSlotForAnotherLease_untilOneIsMissed() {
    SlotToken a = held("a");
    held("b");
    for (int i = 0; i < 5; i++) {
      log.nowEpochMillis += 29_999;
      a = renewed(a, DecidedBy.CACHE);
    }
    held("c"); // b has died
    denied("d");
    log.nowEpochMillis += 30_000;
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(a));
    assertEquals(new SlotOutcome.Released(false), release(a));
    assertEquals(5, count("weir.slot.renewals", "verdict", "renewed"));
    assertEquals(1, count("weir.slot.renewals", "verdict", "refused"));
  }

  @Test
  void lostCache_renewalTakesTheSlotAgain_ifThereIsOne() {
    SlotToken a = held("a");
    SlotToken b = held("b");
    redis.clear();
    a = renewed(a, DecidedBy.CACHE);
    held("c");
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(b));
    redis.clear();
    log.nowEpochMillis += 30_000;
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(a));
  }

  @Test
  void changedPolicies_applyToTheNextRenewal() {
    SlotToken a = held("a");
    SlotToken b = held("b");
    policies =
        matcher(policy("reports", new ConcurrencyLimit(1, 10_000_000), CacheFailureMode.LOCAL));
    denied("c");
    // a caller that holds a slot keeps it, and no other caller gets one until enough are free
    SlotToken renewed = renewed(a, DecidedBy.CACHE);
    assertEquals(nowMicros() + 10_000_000, renewed.claim().untilEpochMicros());
    release(b);
    denied("c");
    release(a);
    held("c");

    policies = matcher();
    assertEquals(new SlotOutcome.Ended(List.of()), renew(a));
    assertEquals(new SlotOutcome.Released(false), release(a));
  }

  @Test
  void clientsOwnLimit_appliesToItsRenewals() {
    ConcurrencyLimit own = new ConcurrencyLimit(1, 5_000_000);
    ClientSettings acme =
        new ClientSettings(ClientCalendar.OF_POLICY, null, Map.of("reports", own));
    policies =
        PolicyMatcher.of(
            new PolicySet(
                1,
                List.of(policy("reports", TWO, CacheFailureMode.LOCAL)),
                new Clients(Map.of("acme", acme), Map.of(), null, UnknownClients.ALLOW)));
    SlotToken a = held("a");
    denied("b");
    SlotToken other = held("globex", "a");
    assertEquals(5_000_000, leaseMicros(renew(a)));
    assertEquals(30_000_000, leaseMicros(renew(other)));
  }

  private static long leaseMicros(SlotOutcome outcome) {
    return assertInstanceOf(SlotOutcome.Renewed.class, outcome).leaseMicros();
  }

  @Test
  void shadowSlots_areHeldAndRefuseNothing() {
    Policy shadow =
        policy(
            "reports",
            List.of(KeyPart.CLIENT),
            new ConcurrencyLimit(1, 1_000_000),
            PolicyMode.SHADOW,
            CacheFailureMode.LOCAL);
    policies = matcher(shadow, policy("wide", TWO, CacheFailureMode.LOCAL));
    SlotToken a = held("a");
    assertEquals(2, a.keys().size());
    assertEquals(1, held("b").keys().size());
    log.nowEpochMillis += 1_500;
    // the shadow slot has ended, which is no reason to refuse the renewal
    renewed(a, DecidedBy.CACHE);
  }

  @Test
  void callThatIsNotKept_givesItsSlotBack_unlessItHadItBefore() {
    SlotToken a = held("a");
    notKept("a");
    notKept(null);
    held("c");
    denied("d");
    assertEquals(new SlotOutcome.Released(true), release(a));
  }

  private void notKept(@Nullable String id) {
    log.refusal = new Recorded.Refused(Recorded.Reason.FULL, "full");
    assertInstanceOf(
        CheckOutcome.NotKept.class, gate.check(new Call("acme", "-", "calls", 1, id, null)));
    log.refusal = null;
  }

  /**
   * Was a hole (seed 110014322): the release of a try that could not be recorded came after another
   * try with the same id had been given the slot, which was free then.
   */
  @Test
  void callThatIsNotKept_leavesTheSlotToTheNextTryWithItsId() {
    notKept("own");
    SlotToken own = held("own");
    held("b");
    denied("c");
    assertEquals(new SlotOutcome.Released(true), release(own));
  }

  @Test
  void peek_takesNoSlot() {
    for (int i = 0; i < 3; i++) {
      CheckOutcome.Decided peeked =
          assertInstanceOf(
              CheckOutcome.Decided.class,
              gate.peek(new Call("acme", "-", "calls", 1, "p" + i, null)));
      assertTrue(peeked.call().allowed());
      assertNull(peeked.slots());
    }
  }

  /** Two nodes share 2 slots, so each has 1, in addition to those that the cache gave before. */
  @Test
  void cacheUnavailable_localPolicy_countsSlots_cacheTakesThemOver() {
    SlotToken before = held("before");
    cache.cause = Cause.TIMEOUT;
    CheckOutcome.Decided local = check("acme", "l");
    assertEquals(DecidedBy.LOCAL, local.call().decidedBy());
    SlotToken l = Objects.requireNonNull(local.slots()).token();
    denied("m");
    l = renewed(l, DecidedBy.LOCAL);
    // the node does not know the other slot, whose lease runs, so it does not report its end
    assertInstanceOf(SlotOutcome.Unknown.class, renew(before));
    assertInstanceOf(SlotOutcome.Unknown.class, release(before));

    cache.cause = null;
    l = renewed(l, DecidedBy.CACHE);
    renewed(before, DecidedBy.CACHE);
    denied("m");
    assertEquals(new SlotOutcome.Released(true), release(l));

    cache.cause = Cause.UNAVAILABLE;
    SlotToken n = held("n");
    assertEquals(new SlotOutcome.Released(true), release(n));
    held("o");
    log.nowEpochMillis += 31_000;
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renewAfterAnotherTook(before));
  }

  private SlotOutcome renewAfterAnotherTook(SlotToken token) {
    held("p");
    return renew(token);
  }

  @Test
  void cacheUnavailable_openAndClosed_decideAsForChecks() {
    policies = matcher(policy("reports", TWO, CacheFailureMode.OPEN));
    SlotToken a = held("a");
    cache.cause = Cause.TIMEOUT;
    CheckOutcome.Decided open = check("acme", "b");
    assertTrue(open.call().allowed());
    assertNull(open.slots());
    assertNotNull(renewed(a, DecidedBy.FAIL_OPEN));
    policies = matcher(policy("reports", TWO, CacheFailureMode.CLOSED));
    assertFalse(check("acme", "c").call().allowed());
    assertInstanceOf(SlotOutcome.Unknown.class, renew(a));
    cache.cause = Cause.REJECTED;
    assertInstanceOf(SlotOutcome.Shed.class, renew(a));
    assertInstanceOf(SlotOutcome.Shed.class, release(a));
  }

  @Test
  void cacheUnavailable_costAboveSlots_isNotAboveTheCapacity() {
    Policy tokens =
        new Policy(
            "tokens",
            PolicyMatch.ANY,
            List.of(KeyPart.CLIENT),
            new TokenBucketLimit(10, 1, 1_000_000),
            PolicyMode.ENFORCE,
            CacheFailureMode.LOCAL);
    policies = matcher(policy("reports", TWO, CacheFailureMode.LOCAL), tokens);
    cache.cause = Cause.TIMEOUT;
    CheckOutcome.Denial denial = Objects.requireNonNull(check("acme", "a").denial());
    assertFalse(denial.costExceedsCapacity());
    assertEquals(Set.of("tokens"), Set.copyOf(denial.violated()));
  }

  @Test
  void renewalRefusedByOneServerOfACluster_whileAnotherDoesNotAnswer_hasEnded() {
    SlotToken a = held("a");
    BucketReply missing = new BucketReply(false, 0, 1_000, 1_000, 0, 0, 0, false);
    cache.stillDenied = new Decision.StillDenied(List.of(new Shortage(0, missing)));
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(a));
    assertEquals(1, count("weir.slot.renewals", "verdict", "refused"));
  }

  @Test
  void cacheUnavailable_openPolicy_doesNotReviveALease() {
    policies = matcher(policy("reports", TWO, CacheFailureMode.OPEN));
    SlotToken a = held("a");
    cache.cause = Cause.TIMEOUT;
    log.nowEpochMillis += 29_999;
    renewed(a, DecidedBy.FAIL_OPEN);
    log.nowEpochMillis += 1;
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(a));
  }

  /** Two nodes share 2 slots, so each has 1, however often the cache goes away and comes back. */
  @Test
  void slotsOfTheNode_countInTheNextOutage_too() {
    ConcurrencyLimit hour = new ConcurrencyLimit(2, 3_600_000_000L);
    policies = matcher(policy("reports", hour, CacheFailureMode.LOCAL));
    cache.cause = Cause.UNAVAILABLE;
    SlotToken l = held("l");
    cache.cause = null;
    for (int i = 0; i < 3; i++) {
      log.nowEpochMillis += LocalDecider.FORGET_AFTER_MILLIS;
      check("other", null);
    }
    cache.cause = Cause.UNAVAILABLE;
    denied("m");
    assertEquals(new SlotOutcome.Released(true), release(l));
    held("m");
  }

  @Test
  void slotOfAnAnswerThatTheNodeDidNotGet_isReleased_whenTheCacheDecidesAgain() {
    for (Cause cause : List.of(Cause.TIMEOUT, Cause.REJECTED, Cause.UNAVAILABLE)) {
      for (CacheFailureMode failure : List.of(CacheFailureMode.OPEN, CacheFailureMode.CLOSED)) {
        policies = matcher(policy("reports", TWO, failure));
        cache.cause = cause;
        cache.losesAnswers = true;
        gate.check(new Call("acme", "-", "calls", 1, null, null));
        gate.check(List.of(new Call("acme", "-", "calls", 1, null, null)));
        cache.cause = null;
        denied("a");
        SlotToken a = held("a");
        release(held("b"));
        release(a);
      }
    }
    assertEquals(24, count("weir.slots", "change", "released"));
  }

  @Test
  void slotOfAnAnswerThatTheNodeDidNotGet_isKeptForTheCallersOwnId() {
    policies = matcher(policy("reports", TWO, CacheFailureMode.CLOSED));
    cache.cause = Cause.TIMEOUT;
    cache.losesAnswers = true;
    assertFalse(check("acme", "own").call().allowed());
    cache.cause = null;
    held("a");
    denied("b");
    held("own");
  }

  /**
   * Was a hole: the node's slot was free, and that of the cache was kept for the rest of a lease.
   */
  @Test
  void releaseWhileTheCacheIsUnavailable_isRepeatedLater() {
    policies = matcher(policy("reports", ONE_HOUR, CacheFailureMode.LOCAL));
    SlotToken renewed = held("a");
    cache.cause = Cause.TIMEOUT;
    renewed = renewed(renewed, DecidedBy.LOCAL);
    assertEquals(new SlotOutcome.Released(true), release(renewed));
    cache.cause = null;
    denied("first");
    SlotToken b = held("b");
    release(b);

    cache.cause = Cause.TIMEOUT;
    cache.losesAnswers = true;
    SlotToken lost = Objects.requireNonNull(check("acme", null).slots()).token();
    assertEquals(new SlotOutcome.Released(true), release(lost));
    cache.cause = null;
    denied("first");
    held("b");
    assertEquals(4, count("weir.slots", "change", "acquired"));
    assertEquals(3, count("weir.slots", "change", "released"));
  }

  /** Regression: as above, for a call that could not be recorded; no caller retries. */
  @Test
  void slotOfADiscardedCall_whileTheCacheIsUnavailable_isReleasedLater() {
    policies = matcher(policy("reports", ONE_HOUR, CacheFailureMode.LOCAL));
    for (Cause cause : List.of(Cause.TIMEOUT, Cause.REJECTED)) {
      cache.causeOfReleases = cause;
      log.refusal = new Recorded.Refused(Recorded.Reason.FULL, "full");
      gate.check(new Call("acme", "-", "calls", 1, null, null));
      cache.causeOfReleases = null;
      log.refusal = null;
      denied("first");
      release(held("b"));
    }
  }

  /** A late release must not end a newer acquisition of the slot. */
  @Test
  void slotThatIsTakenAgain_isNotReleasedLate() {
    policies = matcher(policy("reports", ONE_HOUR, CacheFailureMode.LOCAL));
    SlotToken a = held("a");
    cache.cause = Cause.TIMEOUT;
    release(renewed(a, DecidedBy.LOCAL));
    cache.cause = null;
    held("a");
    denied("b");

    cache.cause = Cause.TIMEOUT;
    a = renewed(a, DecidedBy.LOCAL);
    release(a);
    cache.cause = null;
    renewed(a, DecidedBy.CACHE);
    denied("b");
  }

  /**
   * Regression: the local slot of one policy admits the call, and the cache's slot of the other
   * leaked.
   */
  @Test
  void slotOfAnOpenPolicy_isReleased_thoughTheNodeDecidesByAnother() {
    policies =
        matcher(
            policy("reports", ONE_HOUR, CacheFailureMode.LOCAL),
            policy("open", ONE_HOUR, CacheFailureMode.OPEN));
    cache.cause = Cause.TIMEOUT;
    cache.losesAnswers = true;
    SlotToken a = Objects.requireNonNull(check("acme", null).slots()).token();
    assertEquals(1, a.keys().size());
    cache.cause = null;
    assertEquals(new SlotOutcome.Released(true), release(a));
    assertEquals(2, held("b").keys().size());
  }

  /** Regression: one server of a cluster refused, but another one took a slot. */
  @Test
  void slotOfADenialThatIsPartial_isReleased() {
    policies = matcher(policy("reports", ONE_HOUR, CacheFailureMode.CLOSED));
    BucketReply missing = new BucketReply(false, 0, 1_000, 1_000, 0, 0, 0, false);
    cache.stillDenied = new Decision.StillDenied(List.of(new Shortage(0, missing)), true);
    cache.losesAnswers = true;
    assertFalse(check("acme", null).call().allowed());
    cache.stillDenied = null;
    denied("first");
    held("b");
  }

  /** Regression: only a check or a peek of this node retried pending releases, four at a time. */
  @Test
  void slotsThatAreOwed_areReleasedByWhateverTheCacheDecides_andBeforeTheNodeStops() {
    policies = matcher(policy("reports", ONE_HOUR, CacheFailureMode.CLOSED));
    SlotToken other = held("globex", "other");
    List<Runnable> occasions =
        List.of(
            () -> renewed(other, DecidedBy.CACHE),
            () -> release(other),
            () -> gate.slots().cacheAnswers(nowMicros()),
            gate.slots()::drain);
    for (Runnable occasion : occasions) {
      loseAnswers(1);
      occasion.run();
      release(held("b"));
    }
  }

  @Test
  void manySlotsThatAreOwed_areReleasedBeforeTheNodeStops_ifTheCacheDecides() {
    int many = 3 * PendingReleases.AT_ONCE;
    policies =
        matcher(policy("reports", new ConcurrencyLimit(many, 60_000_000), CacheFailureMode.CLOSED));
    loseAnswers(many);
    cache.cause = Cause.TIMEOUT;
    gate.slots().drain();
    assertEquals(PendingReleases.AT_ONCE, cache.released);
    cache.cause = null;
    gate.slots().drain();
    assertEquals(many + PendingReleases.AT_ONCE, cache.released);
    assertEquals(many, count("weir.slots", "change", "released"));
  }

  private void loseAnswers(int calls) {
    cache.cause = Cause.TIMEOUT;
    cache.losesAnswers = true;
    for (int i = 0; i < calls; i++) {
      check("acme", null);
    }
    cache.cause = null;
    cache.losesAnswers = false;
  }

  @Test
  void slotsThatAreOwed_areForgottenWhenTheirLeasesHaveEnded() {
    policies = matcher(policy("reports", TWO, CacheFailureMode.CLOSED));
    cache.cause = Cause.TIMEOUT;
    check("acme", null);
    check("acme", null);
    cache.cause = null;
    log.nowEpochMillis += 30_001;
    held("a");
    assertEquals(0, cache.released);
  }

  /** Switching enforcement off must not end calls in progress. */
  @Test
  void policiesSwitchedOff_renewalsGoOnWithoutASlot_untilALeaseHasEnded() {
    SlotToken a = held("a");
    PolicyMatcher on = policies;
    policies =
        matcher(
            policy(
                "reports", List.of(KeyPart.CLIENT), TWO, PolicyMode.OFF, CacheFailureMode.LOCAL));
    cache.cause = Cause.TIMEOUT;
    for (int i = 0; i < 3; i++) {
      log.nowEpochMillis += 29_999;
      a = renewed(a, DecidedBy.NONE);
    }
    cache.cause = null;
    policies = on;
    a = renewed(a, DecidedBy.CACHE);
    held("b");
    denied("c");
    policies =
        matcher(
            policy(
                "reports", List.of(KeyPart.CLIENT), TWO, PolicyMode.OFF, CacheFailureMode.LOCAL));
    log.nowEpochMillis += 30_000;
    assertEquals(new SlotOutcome.Ended(List.of("reports")), renew(a));
  }

  @Test
  void releaseOfAKeyThatIsNotWeirs_isAbandoned_andTheOtherSlotsAreReleased() {
    policies =
        matcher(
            policy("reports", TWO, CacheFailureMode.LOCAL),
            policy("exports", TWO, CacheFailureMode.LOCAL));
    SlotToken token = held("a");
    cache.corruptBucket = token.keys().get(0).text();

    assertEquals(new SlotOutcome.Released(true), release(token));
    assertEquals(1, count("weir.slots", "change", "released"));
    assertEquals(1, registry.get("weir.slot.releases.abandoned").counter().count());

    cache.cause = Cause.UNAVAILABLE;
    CheckOutcome.Decided unanswered = check("acme", null);
    cache.cause = null;
    assertTrue(unanswered.call().allowed());
    gate.slots().drain();
    int sent = cache.released;
    gate.slots().cacheAnswers(nowMicros());
    gate.slots().drain();
    assertEquals(sent, cache.released, "an abandoned release is sent again");
  }
}
