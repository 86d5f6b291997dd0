// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotKey;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.model.DecidedBy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Renews and releases the slots that calls hold. The slots are in the cache, or in this node's
 * memory if this node decided the call locally. Any node can renew and release slots in the cache.
 * Thread-safe; blocks no thread.
 */
public final class Slots {
  private static final long MICROS_PER_MILLI = 1_000;

  /** Maximum time for which a stopping node continues to release slots. */
  private static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(2);

  /**
   * A placeholder for the limit in the check of a release. A release does not use the number of
   * slots or the lease.
   */
  private static final ConcurrencyLimit ANY =
      new ConcurrencyLimit(ConcurrencyLimit.MAX_SLOTS, ConcurrencyLimit.MIN_LEASE_MICROS);

  private final Supplier<PolicyMatcher> policies;
  private final DecisionCache cache;
  private final LocalDecider local;
  private final LongSupplier clockEpochMillis;
  private final SlotStatistics statistics;
  private final PendingReleases pending;

  Slots(
      Supplier<PolicyMatcher> policies,
      DecisionCache cache,
      LocalDecider local,
      LongSupplier clockEpochMillis,
      SlotStatistics statistics) {
    this.policies = policies;
    this.cache = cache;
    this.local = local;
    this.clockEpochMillis = clockEpochMillis;
    this.statistics = statistics;
    this.pending = new PendingReleases(cache, statistics);
  }

  /**
   * Renews slots by the limits in force. A lease that has ended cannot be renewed. If the cache has
   * lost a slot before the end of its lease, the renewal acquires a free slot. Slots of policies
   * that are off or deleted expire with their leases. If all policies of the slots are off or
   * deleted, and at least one is off, the renewal succeeds without a slot. Calls need no slot of a
   * policy that is off.
   */
  public CompletableFuture<SlotOutcome> renew(SlotToken token) {
    PolicyMatcher snapshot = policies.get();
    List<MatchedPolicy> found = new ArrayList<>();
    List<MatchedPolicy> off = new ArrayList<>();
    for (SlotKey key : token.keys()) {
      MatchedPolicy match = snapshot.slots(key);
      if (match != null) {
        (match.policy().mode() == PolicyMode.OFF ? off : found).add(match);
      }
    }
    if (found.isEmpty()) {
      SlotOutcome outcome =
          off.isEmpty()
              ? new SlotOutcome.Ended(List.of())
              : renewedWithoutSlot(token, off, DecidedBy.NONE);
      count(outcome);
      return CompletableFuture.completedFuture(outcome);
    }
    Check check = new Check(found.stream().map(MatchedPolicy::bucket).toList(), 1, token.claim());
    MatchedPolicies matched =
        new MatchedPolicies(snapshot.policiesVersion(), found, List.of(), null);
    pending.forget(token.claim().holder());
    return cache
        .submit(check)
        .thenApply(
            decision -> {
              SlotOutcome outcome = renewed(token, matched, decision);
              count(outcome);
              return outcome;
            });
  }

  private void count(SlotOutcome outcome) {
    if (outcome instanceof SlotOutcome.Renewed) {
      statistics.renewed.increment();
    } else if (outcome instanceof SlotOutcome.Ended) {
      statistics.refused.increment();
    }
  }

  private SlotOutcome renewed(SlotToken token, MatchedPolicies matched, Decision decision) {
    noteDecided(decision);
    if (decision instanceof Decision.Allowed allowed) {
      return held(token, matched.evaluated(), allowed.decidedAtEpochMicros(), DecidedBy.CACHE);
    }
    if (decision instanceof Decision.Denied denied) {
      return ended(matched.evaluated(), denied);
    }
    if (decision instanceof Decision.Undecided undecided) {
      return undecided.cause() == Decision.Cause.REJECTED
          ? new SlotOutcome.Shed(undecided.detail())
          : withoutCache(token, matched, undecided);
    }
    // one server of a cluster refused, and another did not reply
    return ended(matched.evaluated(), (Decision.StillDenied) decision);
  }

  private static SlotOutcome held(
      SlotToken token, List<MatchedPolicy> held, long nowMicros, DecidedBy decidedBy) {
    long leaseMicros = Long.MAX_VALUE;
    for (MatchedPolicy match : held) {
      leaseMicros = Math.min(leaseMicros, match.bucket().limit().leaseMicros());
    }
    return new SlotOutcome.Renewed(token.until(nowMicros + leaseMicros), leaseMicros, decidedBy);
  }

  /** Renews a lease without acquiring a slot. If the lease has ended, refuses the renewal. */
  private SlotOutcome renewedWithoutSlot(
      SlotToken token, List<MatchedPolicy> of, DecidedBy decidedBy) {
    long nowMicros = clockEpochMillis.getAsLong() * MICROS_PER_MILLI;
    return nowMicros < token.claim().untilEpochMicros()
        ? held(token, of, nowMicros, decidedBy)
        : new SlotOutcome.Ended(of.stream().map(match -> match.policy().name()).toList());
  }

  private static SlotOutcome ended(List<MatchedPolicy> asked, Decision.Denied denied) {
    List<String> missing = new ArrayList<>();
    for (int i = 0; i < asked.size(); i++) {
      if (asked.get(i).bucket().enforced() && !denied.buckets().get(i).sufficient()) {
        missing.add(asked.get(i).policy().name());
      }
    }
    return new SlotOutcome.Ended(missing);
  }

  private static SlotOutcome ended(List<MatchedPolicy> asked, Decision.StillDenied denied) {
    return new SlotOutcome.Ended(
        denied.shortages().stream().map(each -> asked.get(each.bucket()).policy().name()).toList());
  }

  /** Renews by the policies' failure modes while the cache is unavailable. */
  private SlotOutcome withoutCache(
      SlotToken token, MatchedPolicies matched, Decision.Undecided undecided) {
    Fallback fallback = Fallback.of(matched, undecided.cause());
    long nowMillis = clockEpochMillis.getAsLong();
    long nowMicros = nowMillis * MICROS_PER_MILLI;
    return switch (fallback.decidedBy()) {
      case FAIL_OPEN -> renewedWithoutSlot(token, matched.evaluated(), DecidedBy.FAIL_OPEN);
      case LOCAL -> {
        List<BucketRequest> buckets = fallback.local().stream().map(MatchedPolicy::bucket).toList();
        Decision.Decided decided =
            local.decide(new Check(buckets, 1, token.claim()), false, nowMillis);
        if (decided instanceof Decision.Denied denied) {
          // the cache may still hold the slots until the lease ends
          yield nowMicros < token.claim().untilEpochMicros()
              ? new SlotOutcome.Unknown(undecided.detail())
              : ended(fallback.local(), denied);
        }
        yield held(token, matched.evaluated(), nowMicros, DecidedBy.LOCAL);
      }
      default -> new SlotOutcome.Unknown(undecided.detail());
    };
  }

  /** Releases slots. Has no effect on slots that the call does not hold. */
  public CompletableFuture<SlotOutcome> release(SlotToken token) {
    return release(token, token.keys(), true);
  }

  /**
   * Releases the slots of a call that was not recorded and therefore does not proceed. If the
   * caller assigned the id of the call, the slots are not released. A late release could free the
   * slots of another attempt with the same id.
   */
  void giveUp(HeldSlots held) {
    if (held.ofThisTry() && !held.taken().isEmpty()) {
      var unused = release(held.token(), held.taken(), false);
    }
  }

  /**
   * Schedules the release of slots for a call that the cache did not decide in time. The call may
   * have acquired slots in the cache although its outcome contains no slots. These slots are
   * released when the cache decides again. If the caller assigned the id of the call, the slots are
   * not released, because another attempt may hold these slots.
   *
   * @param held the slots that the answered call holds; null for none
   */
  void giveUpUndecided(
      Call call, MatchedPolicies matched, @Nullable HeldSlots held, long nowEpochMillis) {
    if (call.newId() != null && matched.hasSlots()) {
      Set<String> kept =
          held == null
              ? Set.of()
              : held.token().keys().stream().map(SlotKey::text).collect(Collectors.toSet());
      pending.addUndecided(HeldSlots.check(call, matched), kept, nowEpochMillis);
    }
  }

  /**
   * Returns the check that decides a call. Cancels pending releases of the same holder, because the
   * call may acquire these slots again.
   */
  Check check(Call call, MatchedPolicies matched) {
    Check check = HeldSlots.check(call, matched);
    if (check.claim() != null && call.newId() == null) {
      pending.forget(check.claim().holder());
    }
    return check;
  }

  /** Retries pending releases, because the cache has just decided a check. */
  void cacheDecided(long nowEpochMillis) {
    var unused = pending.release(nowEpochMillis, PendingReleases.PER_DECIDED_CALL);
  }

  private void noteDecided(Decision decision) {
    if (decision instanceof Decision.Decided decided) {
      cacheDecided(decided.decidedAtEpochMicros() / MICROS_PER_MILLI);
    }
  }

  /**
   * Retries pending releases, because the cache has just replied. This method is also called when
   * the node has no calls. Does not block.
   *
   * @param nowEpochMicros time by the cache's clock
   */
  public void cacheAnswers(long nowEpochMicros) {
    var unused = pending.release(nowEpochMicros / MICROS_PER_MILLI, PendingReleases.AT_ONCE);
  }

  /**
   * Retries the pending releases before the node stops. Stops at the first release that the cache
   * does not decide.
   */
  public void drain() {
    pending.drain(clockEpochMillis.getAsLong(), DRAIN_TIMEOUT);
  }

  /**
   * Releases slots.
   *
   * @param isAwaited whether a caller waits for the result, and retries if the result is unknown
   */
  private CompletableFuture<SlotOutcome> release(
      SlotToken token, List<SlotKey> keys, boolean isAwaited) {
    Check check =
        new Check(
            keys.stream().map(key -> new BucketRequest(key.text(), ANY, true)).toList(),
            1,
            token.claim());
    boolean wasLocal = statistics.countReleased(local.release(check));
    return pending
        .submit(check)
        .thenApply(
            decision -> {
              if (decision instanceof Decision.Undecided && (wasLocal || !isAwaited)) {
                // the slots may also be occupied in the cache: from an earlier renewal, or because
                // the reply was lost
                pending.addRelease(check, token.claim(), wasLocal);
              }
              return released(decision, wasLocal);
            });
  }

  private SlotOutcome released(Decision decision, boolean wasLocal) {
    noteDecided(decision);
    boolean wasHeld = statistics.countReleased(decision);
    if (decision instanceof Decision.Undecided undecided && !wasLocal) {
      return undecided.cause() == Decision.Cause.REJECTED
          ? new SlotOutcome.Shed(undecided.detail())
          : new SlotOutcome.Unknown(undecided.detail());
    }
    return new SlotOutcome.Released(wasHeld || wasLocal);
  }
}
