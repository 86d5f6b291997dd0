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
 * Renews and releases the slots that calls hold, wherever they are: in the cache, or in this node's
 * memory if it has decided the call. Any node renews and releases the slots of any other that are
 * in the cache. Thread-safe; blocks no thread.
 */
public final class Slots {
  private static final long MICROS_PER_MILLI = 1_000;

  /** How long a node that stops goes on releasing slots. */
  private static final Duration DRAIN_PATIENCE = Duration.ofSeconds(2);

  /** For a release, which depends neither on the number of slots nor on their lease. */
  private static final ConcurrencyLimit ANY =
      new ConcurrencyLimit(ConcurrencyLimit.MAX_SLOTS, ConcurrencyLimit.MIN_LEASE_MICROS);

  private final Supplier<PolicyMatcher> policies;
  private final DecisionCache cache;
  private final LocalDecider local;
  private final LongSupplier clockEpochMillis;
  private final SlotStatistics statistics;
  private final OwedReleases owed;

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
    this.owed = new OwedReleases(cache, statistics);
  }

  /**
   * Renews slots by the limits that are in force now. A slot that the cache has forgotten is taken
   * again if there is one and the caller's lease has not ended; one whose lease has ended is not.
   * Slots of policies that are off, or that there are no more, are left to their leases; if the
   * call has no others, and one is off, it goes on without a slot, as new calls do.
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
          off.isEmpty() ? new SlotOutcome.Ended(List.of()) : unasked(token, off, DecidedBy.NONE);
      count(outcome);
      return CompletableFuture.completedFuture(outcome);
    }
    Check check = new Check(found.stream().map(MatchedPolicy::bucket).toList(), 1, token.claim());
    MatchedPolicies matched =
        new MatchedPolicies(snapshot.policiesVersion(), found, List.of(), null);
    owed.forget(token.claim().holder());
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
    // of a cluster's servers one has refused, and another has not answered
    return ended(matched.evaluated(), (Decision.StillDenied) decision);
  }

  private static SlotOutcome held(
      SlotToken token, List<MatchedPolicy> held, long nowMicros, DecidedBy decidedBy) {
    long leaseMicros = Long.MAX_VALUE;
    for (MatchedPolicy match : held) {
      if (match.bucket().limit() instanceof ConcurrencyLimit limit) {
        leaseMicros = Math.min(leaseMicros, limit.leaseMicros());
      }
    }
    return new SlotOutcome.Renewed(token.until(nowMicros + leaseMicros), leaseMicros, decidedBy);
  }

  /** Renews without a slot, unless the lease has ended. */
  private SlotOutcome unasked(SlotToken token, List<MatchedPolicy> of, DecidedBy decidedBy) {
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

  /** Renews on this node, if the policies say so, while the cache cannot. */
  private SlotOutcome withoutCache(
      SlotToken token, MatchedPolicies matched, Decision.Undecided undecided) {
    Fallback fallback = Fallback.of(matched, undecided.cause());
    long nowMillis = clockEpochMillis.getAsLong();
    long nowMicros = nowMillis * MICROS_PER_MILLI;
    return switch (fallback.decidedBy()) {
      case FAIL_OPEN -> unasked(token, matched.evaluated(), DecidedBy.FAIL_OPEN);
      case LOCAL -> {
        List<BucketRequest> buckets = fallback.local().stream().map(MatchedPolicy::bucket).toList();
        Decision.Decided decided =
            local.decide(new Check(buckets, 1, token.claim()), false, nowMillis);
        if (decided instanceof Decision.Denied denied) {
          // the cache may still know of the lease, as long as that runs
          yield nowMicros < token.claim().untilEpochMicros()
              ? new SlotOutcome.Unknown(undecided.detail())
              : ended(fallback.local(), denied);
        }
        yield held(token, matched.evaluated(), nowMicros, DecidedBy.LOCAL);
      }
      default -> new SlotOutcome.Unknown(undecided.detail());
    };
  }

  /** Releases slots, whether they are held or not. */
  public CompletableFuture<SlotOutcome> release(SlotToken token) {
    return release(token, token.keys(), true);
  }

  /**
   * Releases what a call has taken that is not let through after all. Nobody waits for it, so it
   * may come late; by then slots of a caller's own id may be those of another try, and are left to
   * it, or to their lease.
   */
  void giveUp(HeldSlots held) {
    if (held.ofThisTry() && !held.taken().isEmpty()) {
      var unused = release(held.token(), held.taken(), false);
    }
  }

  /**
   * Notes that a call is answered without some of its slots, though the cache, which has not
   * decided it, may have given it all. They are released when the cache decides again. Slots of a
   * caller's own id are not: they may be those of another try.
   *
   * @param held the slots with which it is answered; null for none
   */
  void giveUpUndecided(
      Call call, MatchedPolicies matched, @Nullable HeldSlots held, long nowEpochMillis) {
    if (call.newId() != null && matched.hasSlots()) {
      Set<String> kept =
          held == null
              ? Set.of()
              : held.token().keys().stream().map(SlotKey::text).collect(Collectors.toSet());
      owed.addUndecided(HeldSlots.check(call, matched), kept, nowEpochMillis);
    }
  }

  /** Returns the check by which a call is decided; it may take again what its holder released. */
  Check check(Call call, MatchedPolicies matched) {
    Check check = HeldSlots.check(call, matched);
    if (check.claim() != null && call.newId() == null) {
      owed.forget(check.claim().holder());
    }
    return check;
  }

  /** Notes that the cache decides, so that what is owed can be released. */
  void cacheDecided(long nowEpochMillis) {
    var unused = owed.release(nowEpochMillis, OwedReleases.BESIDE_A_CALL);
  }

  private void noteDecided(Decision decision) {
    if (decision instanceof Decision.Decided decided) {
      cacheDecided(decided.decidedAtEpochMicros() / MICROS_PER_MILLI);
    }
  }

  /**
   * Notes that the cache answers, whether or not there are calls. Slots that it did not release
   * when it was asked to are released now. Does not block.
   *
   * @param nowEpochMicros time by the cache's clock
   */
  public void cacheAnswers(long nowEpochMicros) {
    var unused = owed.release(nowEpochMicros / MICROS_PER_MILLI, OwedReleases.AT_ONCE);
  }

  /** Releases what is still to be released, as long as the cache decides, before the node stops. */
  public void drain() {
    owed.drain(clockEpochMillis.getAsLong(), DRAIN_PATIENCE);
  }

  /**
   * Releases slots.
   *
   * @param isAwaited whether a caller asks again if it is not known whether they are released
   */
  private CompletableFuture<SlotOutcome> release(
      SlotToken token, List<SlotKey> keys, boolean isAwaited) {
    Check check =
        new Check(
            keys.stream().map(key -> new BucketRequest(key.text(), ANY, true)).toList(),
            1,
            token.claim());
    boolean wasLocal = statistics.countReleased(local.release(check));
    return owed.submit(check)
        .thenApply(
            decision -> {
              if (decision instanceof Decision.Undecided && (wasLocal || !isAwaited)) {
                // the cache may have it, too: from before, or since its answer was lost
                owed.addRelease(check, token.claim(), wasLocal);
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
