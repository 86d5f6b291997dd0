// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.PolicyMatcher;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides the calls of a batch in parts of some hundred keys. The cache decides the checks of one
 * part together. A large batch therefore does not delay single checks. Thread-safe; blocks the
 * calling thread while the cache decides, and while other batches use the cache.
 */
final class BatchDecider {
  /** Number of keys that fill a part of a batch. A full part is submitted to the cache. */
  private static final int KEYS_PER_PART = 512;

  /**
   * Maximum number of keys that all batches together may have in the cache's queue. The cache reads
   * this number of keys in about 50 ms, so checks of batches do not wait in the queue until their
   * deadline.
   */
  private static final int MAX_BATCH_KEYS = 8 * KEYS_PER_PART;

  private final DecisionCache cache;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics;
  private final Slots slots;
  private final Judge judge;
  private final Semaphore keysOfBatches = new Semaphore(MAX_BATCH_KEYS, true);

  /** A call of a batch, with the policies that match the call at {@code atEpochMillis}. */
  private record Matched(Call call, MatchedPolicies policies, long atEpochMillis) {}

  /** Calls that the cache decides together, and the number of keys that the cache must read. */
  private record Part(List<Matched> calls, int keys) {}

  /**
   * A call and the future decision on its check. {@code pending} is null if the call needs no
   * check.
   */
  private record Submitted(Matched asked, @Nullable CompletableFuture<Decision> pending) {}

  BatchDecider(
      DecisionCache cache,
      CallLog log,
      Supplier<String> newIds,
      GateStatistics statistics,
      Slots slots,
      Judge judge) {
    this.cache = cache;
    this.log = log;
    this.newIds = newIds;
    this.statistics = statistics;
    this.slots = slots;
    this.judge = judge;
  }

  /**
   * Decides each call separately. If a check is shed, all later parts of the batch are shed too. If
   * several calls share a bucket, they take tokens in list order.
   *
   * @param snapshot the policies that decide all calls
   * @param begunAtEpochMillis start of the batch, by the cache's clock
   * @return the outcome of each call, in the list's order
   */
  List<CheckOutcome> decide(PolicyMatcher snapshot, List<Call> calls, long begunAtEpochMillis) {
    List<CheckOutcome> outcomes = new ArrayList<>(calls.size());
    while (outcomes.size() < calls.size()) {
      List<Call> left = calls.subList(outcomes.size(), calls.size());
      Part part = firstPart(snapshot, left, begunAtEpochMillis);
      for (Matched one : part.calls) {
        statistics.policiesLeftOut.increment(one.policies.leftOut().size());
      }
      List<CheckOutcome> decided = decide(snapshot, part, begunAtEpochMillis);
      outcomes.addAll(decided);
      CheckOutcome.Shed shed = shedIn(decided);
      if (shed != null) {
        int notSubmitted = calls.size() - outcomes.size();
        statistics.shed.increment(notSubmitted);
        outcomes.addAll(Collections.nCopies(notSubmitted, shed));
      }
    }
    return outcomes;
  }

  private static CheckOutcome.@Nullable Shed shedIn(List<CheckOutcome> outcomes) {
    for (CheckOutcome outcome : outcomes) {
      if (outcome instanceof CheckOutcome.Shed shed) {
        return shed;
      }
    }
    return null;
  }

  /** Matches calls at the current time until a part is full, and returns the part. */
  private Part firstPart(PolicyMatcher snapshot, List<Call> calls, long begunAtEpochMillis) {
    long nowEpochMillis = nowEpochMillis(begunAtEpochMillis);
    List<Matched> matched = new ArrayList<>();
    int keys = 0;
    for (Call call : calls) {
      Matched one = match(snapshot, call, nowEpochMillis);
      matched.add(one);
      for (MatchedPolicy match : one.policies.evaluated()) {
        keys += match.bucket().limit().keys();
      }
      if (keys >= KEYS_PER_PART) {
        break;
      }
    }
    return new Part(matched, keys);
  }

  private Matched match(PolicyMatcher snapshot, Call call, long nowEpochMillis) {
    MatchedPolicies matched = call.match(snapshot, nowEpochMillis);
    return new Matched(call.identified(matched, newIds), matched, nowEpochMillis);
  }

  /**
   * Returns the current time, but at least the start of the batch, because the clock may step back.
   */
  private long nowEpochMillis(long begunAtEpochMillis) {
    return Math.max(log.nowEpochMillis(), begunAtEpochMillis);
  }

  /**
   * Decides the calls of a part together. First waits until other batches leave enough room in the
   * cache's queue. After the wait, matches the calls again, at the current time.
   */
  private List<CheckOutcome> decide(PolicyMatcher snapshot, Part part, long begunAtEpochMillis) {
    if (part.calls.size() == 1 && part.keys < KEYS_PER_PART) {
      return await(submit(part.calls));
    }
    boolean waits = keysOfBatches.hasQueuedThreads() || !keysOfBatches.tryAcquire(part.keys);
    if (waits) {
      keysOfBatches.acquireUninterruptibly(part.keys);
    }
    try {
      List<Matched> calls = part.calls;
      if (waits) {
        long nowEpochMillis = nowEpochMillis(begunAtEpochMillis);
        calls = calls.stream().map(one -> match(snapshot, one.call, nowEpochMillis)).toList();
      }
      return await(submit(calls));
    } finally {
      keysOfBatches.release(part.keys);
    }
  }

  private List<Submitted> submit(List<Matched> part) {
    List<Submitted> submitted = new ArrayList<>(part.size());
    for (Matched one : part) {
      submitted.add(
          new Submitted(
              one,
              one.policies.needsCheck()
                  ? cache.submit(slots.check(one.call, one.policies).asPartOfBatch())
                  : null));
    }
    return submitted;
  }

  private List<CheckOutcome> await(List<Submitted> submitted) {
    List<CheckOutcome> outcomes = new ArrayList<>(submitted.size());
    for (Submitted one : submitted) {
      Decision decision = one.pending == null ? null : one.pending.join();
      Matched asked = one.asked;
      outcomes.add(judge.ofCall(asked.call, asked.policies, decision, asked.atEpochMillis));
    }
    return outcomes;
  }
}
