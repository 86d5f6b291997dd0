// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls, then records them: a call is answered only when its record is as durable as the
 * deployment requires. Each call is decided and recorded by one snapshot of the policies.
 * Thread-safe. A call that is {@link #submit(CallRequest) submitted} blocks no thread; a batch
 * blocks its own for at most the cache's patience and the log's write, and while the parts of other
 * batches are decided.
 */
public final class CheckGate {
  private static final CompletableFuture<CheckOutcome> KEY_REFUSED =
      CompletableFuture.completedFuture(CheckOutcome.KeyRefused.INSTANCE);

  private static final Decision TOO_LATE =
      new Decision.Undecided(
          Decision.Cause.TIMEOUT, "the cache did not answer within the caller's patience");

  /** Runs what follows a timeout, as many as there are calls under way; nothing of it blocks. */
  private static final Executor AFTER_TIMEOUTS =
      Executors.newFixedThreadPool(
          2,
          task -> {
            Thread thread = new Thread(task, "weir-after-timeout");
            thread.setDaemon(true);
            return thread;
          });

  /** Number of keys at which a part of a batch is submitted. */
  private static final int KEYS_OF_A_PART = 512;

  /**
   * Most keys of batches in the queue to the cache, of all batches together: some 50 ms of work, so
   * that no check of a batch waits in the queue until its deadline.
   */
  private static final int MAX_KEYS_OF_BATCHES = 8 * KEYS_OF_A_PART;

  private final Supplier<PolicyMatcher> policies;
  private final DecisionCache cache;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics;
  private final @Nullable Leases leases;
  private final Slots slots;
  private final Judge judge;
  private final UsageLog usage;
  private final Semaphore keysOfBatches = new Semaphore(MAX_KEYS_OF_BATCHES, true);

  /** A call of a batch, and the policies that match it at a moment. */
  private record Matched(Call call, MatchedPolicies matched, long atEpochMillis) {}

  /**
   * A call whose check has been submitted; {@code pending} is null if no policy matches the call.
   */
  private record Submitted(Matched asked, @Nullable CompletableFuture<Decision> pending) {}

  /** The calls of a batch that are decided together, and how many keys the cache reads for them. */
  private record Part(List<Matched> calls, int keys) {
    /** Returns the part with which calls begin. */
    static Part of(List<Call> calls, Function<Call, Matched> matching) {
      List<Matched> part = new ArrayList<>();
      int keys = 0;
      for (Call call : calls) {
        Matched one = matching.apply(call);
        part.add(one);
        for (MatchedPolicy match : one.matched.evaluated()) {
          keys += match.bucket().limit().keys();
        }
        if (keys >= KEYS_OF_A_PART) {
          break;
        }
      }
      return new Part(part, keys);
    }

    List<Matched> matchedBy(Function<Call, Matched> matching) {
      return calls.stream().map(one -> matching.apply(one.call)).toList();
    }
  }

  /**
   * Creates a gate without leases.
   *
   * @param policies returns the policies in force; called once per call, and may return a different
   *     object each time
   * @param local decides while the cache cannot, for policies that fail local
   * @param newIds returns an id for a call that has none
   * @param registry receives the metrics of the gate
   */
  public CheckGate(
      Supplier<PolicyMatcher> policies,
      DecisionCache cache,
      LocalDecider local,
      CallLog log,
      Supplier<String> newIds,
      MeterRegistry registry) {
    this(policies, cache, local, log, newIds, null, registry);
  }

  /**
   * Creates a gate.
   *
   * @param policies returns the policies in force; called once per call, and may return a different
   *     object each time
   * @param local decides while the cache cannot, for policies that fail local
   * @param newIds returns an id for a call that has none
   * @param leases tokens that single calls may take without asking the cache; null for none
   * @param registry receives the metrics of the gate
   */
  public CheckGate(
      Supplier<PolicyMatcher> policies,
      DecisionCache cache,
      LocalDecider local,
      CallLog log,
      Supplier<String> newIds,
      @Nullable Leases leases,
      MeterRegistry registry) {
    this.leases = leases;
    this.policies = policies;
    this.cache = cache;
    this.log = log;
    this.newIds = newIds;
    this.statistics = new GateStatistics(registry, local);
    this.slots = new Slots(policies, cache, local, this::nowEpochMillis, statistics.slots);
    this.judge = new Judge(local, slots, statistics, newIds);
    this.usage = new UsageLog(policies, log, registry);
  }

  private long nowEpochMillis() {
    Ticket ticket = log.begin();
    ticket.abandon();
    return ticket.begunAtEpochMillis();
  }

  /** Returns what renews and releases the slots that calls hold. */
  public Slots slots() {
    return slots;
  }

  /** Returns what records usage that has happened. */
  public UsageLog usage() {
    return usage;
  }

  /** Returns the metrics of this gate. */
  GateStatistics statistics() {
    return statistics;
  }

  /**
   * Returns the calls of one request of Envoy's rate limit service as they are to be decided beside
   * each other: a policy that applies to one of them takes the place of those that it names for all
   * of them. That is seen by the policies in force now; each call is decided by those in force
   * then.
   *
   * @param calls calls that stand for descriptors
   * @return the very same list if none is replaced
   */
  public List<Call> besideEachOther(List<Call> calls) {
    PolicyMatcher snapshot = policies.get();
    if (calls.size() < 2 || !snapshot.replaces()) {
      return calls;
    }
    long nowEpochMillis = nowEpochMillis();
    Set<String> replaced = new HashSet<>();
    for (Call call : calls) {
      Descriptor descriptor = call.descriptor();
      if (descriptor != null) {
        replaced.addAll(
            descriptor
                .select(
                    snapshot.matchAll(call.facts(), nowEpochMillis), call.facts(), nowEpochMillis)
                .replaced());
      }
    }
    return replaced.isEmpty() ? calls : calls.stream().map(one -> one.beside(replaced)).toList();
  }

  /** Decides and records a call, and waits for the outcome. */
  public CheckOutcome check(CallRequest request) {
    return outcomeOf(submit(request));
  }

  /**
   * Decides and records a call, and returns without waiting for the outcome.
   *
   * @return completed with the outcome by a thread of the cache or of the log: what depends on it
   *     must not block; exceptionally only by a fault of this process
   */
  public CompletableFuture<CheckOutcome> submit(CallRequest request) {
    return submit(request, null, null);
  }

  /**
   * Decides and records a call as {@link #submit(CallRequest)} does, but asks the cache for at most
   * a given time: then the failure modes of the policies decide, as if the cache had not answered.
   *
   * @param patience how long the cache may take; null for as long as it is set to
   * @param trace is told of each step; null if the call is not traced
   */
  public CompletableFuture<CheckOutcome> submit(
      CallRequest request, @Nullable Duration patience, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.deciding();
    }
    Ticket ticket = log.begin();
    long nowEpochMillis = ticket.begunAtEpochMillis();
    Call call;
    MatchedPolicies matched;
    LeasedBuckets.Taken leased;
    CompletableFuture<Decision> pending;
    try {
      PolicyMatcher snapshot = policies.get();
      call = statistics.keys.find(snapshot, request, nowEpochMillis);
      if (call == null) {
        ticket.abandon();
        return keyRefused(trace);
      }
      matched = match(snapshot, call, nowEpochMillis);
      call = identified(call, matched);
      statistics.policiesLeftOut.increment(matched.leftOut().size());
      boolean asks = matched.needsCheck();
      leased = leases == null || !asks ? null : leases.take(matched, call.cost());
      pending =
          leased != null || !asks
              ? null
              : within(patience, cache.submit(slots.check(call, matched)));
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    Call asked = call;
    if (leased != null) {
      ticket.abandon(); // the call has one of the time at which its tokens were asked for
      return recordLeased(asked, matched, leased, trace);
    }
    return pending == null
        ? record(ticket, asked, matched, null, nowEpochMillis, trace)
        : pending.thenCompose(
            decision -> record(ticket, asked, matched, decision, nowEpochMillis, trace));
  }

  private static CompletableFuture<CheckOutcome> keyRefused(@Nullable CallTrace trace) {
    if (trace != null) {
      trace.decided(List.of(CheckOutcome.KeyRefused.INSTANCE));
    }
    return KEY_REFUSED;
  }

  /** Writes calls to the log, whose trace, if they have one, is told. */
  private CompletableFuture<List<Recorded>> write(
      Ticket ticket, List<CallEvent> calls, @Nullable CallTrace trace) {
    if (trace == null) {
      return log.submit(ticket, calls);
    }
    trace.recording();
    try {
      return log.submit(ticket, calls, trace.whenAcked(calls.size()))
          .whenComplete(
              (results, failed) -> {
                if (failed == null) {
                  trace.recorded(results);
                } else {
                  trace.notRecorded();
                }
              });
    } catch (RuntimeException | Error failed) {
      trace.notRecorded();
      throw failed;
    }
  }

  /**
   * Returns the decision, or that there is none when the time is over. What follows is not run by
   * the thread that knows the time: all timeouts of the process are waiting for that one.
   */
  private static CompletableFuture<Decision> within(
      @Nullable Duration patience, CompletableFuture<Decision> pending) {
    if (patience == null) {
      return pending;
    }
    CompletableFuture<Decision> within = new CompletableFuture<>();
    var unused =
        pending
            .copy()
            .completeOnTimeout(TOO_LATE, patience.toNanos(), TimeUnit.NANOSECONDS)
            .whenComplete(
                (decision, failed) -> {
                  if (decision == TOO_LATE) {
                    AFTER_TIMEOUTS.execute(() -> within.complete(decision));
                  } else if (failed == null) {
                    within.complete(decision);
                  } else {
                    within.completeExceptionally(failed);
                  }
                });
    return within;
  }

  /** Records a call that a lease has decided. The tokens are taken, whatever becomes of it. */
  private CompletableFuture<CheckOutcome> recordLeased(
      Call call, MatchedPolicies matched, LeasedBuckets.Taken leased, @Nullable CallTrace trace) {
    CheckOutcome.Decided decided;
    try {
      decided = judge.ofLease(call, matched, leased);
      if (trace != null) {
        trace.decided(List.of(decided));
      }
    } catch (RuntimeException | Error failed) {
      leased.ticket().abandon();
      throw failed;
    }
    return write(leased.ticket(), List.of(decided.call()), trace)
        .thenApply(recorded -> withRecord(decided, recorded.get(0)));
  }

  private CompletableFuture<CheckOutcome> record(
      Ticket ticket,
      Call call,
      MatchedPolicies matched,
      @Nullable Decision decision,
      long nowEpochMillis,
      @Nullable CallTrace trace) {
    CheckOutcome.Decided decided;
    try {
      CheckOutcome.Shed shed = shed(decision);
      if (shed != null) {
        ticket.abandon();
        slots.giveUpUndecided(call, matched, null, nowEpochMillis);
        if (trace != null) {
          trace.decided(List.of(shed));
        }
        return CompletableFuture.completedFuture(shed);
      }
      decided = judge.ofCall(call, matched, decision, nowEpochMillis);
      if (trace != null) {
        trace.decided(List.of(decided));
      }
      if (leases != null && decision instanceof Decision.Allowed) {
        leases.noteAllowed(matched, call.cost());
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return write(ticket, List.of(decided.call()), trace)
        .thenApply(recorded -> withRecord(decided, recorded.get(0)));
  }

  /** Waits for an outcome; a fault is thrown as it was. */
  private static CheckOutcome outcomeOf(CompletableFuture<CheckOutcome> pending) {
    try {
      return pending.join();
    } catch (CompletionException failed) {
      if (failed.getCause() instanceof RuntimeException fault) {
        throw fault;
      }
      if (failed.getCause() instanceof Error fault) {
        throw fault;
      }
      throw failed;
    }
  }

  /**
   * Decides each call by itself, and records together those that were decided: either every
   * decision is kept or none is. The checks are submitted in parts of some hundred keys, each
   * before its first decision is waited for, so that the cache decides them together and still has
   * room for single checks. When one is shed, the parts after it are shed, too. Calls of one bucket
   * are charged in the list's order.
   *
   * @param requests 1 to {@value CallLog#MAX_CALLS}
   * @return the outcome of each call, in the list's order
   */
  public List<CheckOutcome> check(List<? extends CallRequest> requests) {
    return check(requests, null);
  }

  /**
   * Decides and records calls as {@link #check(List)} does.
   *
   * @param trace is told of each step of all calls together; null if they are not traced
   */
  public List<CheckOutcome> check(List<? extends CallRequest> requests, @Nullable CallTrace trace) {
    if (requests.isEmpty() || requests.size() > CallLog.MAX_CALLS) {
      throw new IllegalArgumentException(
          "calls must be 1 to " + CallLog.MAX_CALLS + ", are " + requests.size());
    }
    if (trace != null) {
      trace.deciding();
    }
    Ticket ticket = log.begin();
    List<CheckOutcome> outcomes;
    List<CallEvent> decided = new ArrayList<>(requests.size());
    try {
      long nowEpochMillis = ticket.begunAtEpochMillis();
      PolicyMatcher snapshot = policies.get();
      KeyLookup.Found found = statistics.keys.find(snapshot, requests, nowEpochMillis);
      outcomes = found.outcomes(decide(snapshot, found.calls(), ticket));
      if (trace != null) {
        trace.decided(outcomes);
      }
      for (CheckOutcome outcome : outcomes) {
        if (outcome instanceof CheckOutcome.Decided one) {
          decided.add(one.call());
        }
      }
      if (decided.isEmpty()) {
        ticket.abandon();
        return outcomes;
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return withRecords(outcomes, write(ticket, decided, trace).join());
  }

  private List<CheckOutcome> decide(PolicyMatcher snapshot, List<Call> calls, Ticket ticket) {
    List<CheckOutcome> outcomes = new ArrayList<>(calls.size());
    while (outcomes.size() < calls.size()) {
      List<Call> left = calls.subList(outcomes.size(), calls.size());
      Part part = Part.of(left, matchingNow(snapshot, ticket));
      for (Matched one : part.calls) {
        statistics.policiesLeftOut.increment(one.matched.leftOut().size());
      }
      List<CheckOutcome> decided = decide(part, () -> matchingNow(snapshot, ticket));
      outcomes.addAll(decided);
      CheckOutcome.Shed shed = shedIn(decided);
      if (shed != null) {
        int notAsked = calls.size() - outcomes.size();
        statistics.shed.increment(notAsked);
        outcomes.addAll(Collections.nCopies(notAsked, shed));
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

  /**
   * Decides checks together; those of a batch when the parts of others leave room for them.
   *
   * @param matchingNow returns what matches the calls anew if they have waited for room
   */
  private List<CheckOutcome> decide(Part part, Supplier<Function<Call, Matched>> matchingNow) {
    if (part.calls.size() == 1 && part.keys < KEYS_OF_A_PART) {
      return await(submit(part.calls));
    }
    boolean waits = keysOfBatches.hasQueuedThreads() || !keysOfBatches.tryAcquire(part.keys);
    if (waits) {
      keysOfBatches.acquireUninterruptibly(part.keys);
    }
    try {
      return await(submit(waits ? part.matchedBy(matchingNow.get()) : part.calls));
    } finally {
      keysOfBatches.release(part.keys);
    }
  }

  private List<Submitted> submit(List<Matched> part) {
    List<Submitted> submitted = new ArrayList<>(part.size());
    for (Matched one : part) {
      boolean asks = one.matched.needsCheck();
      submitted.add(
          new Submitted(
              one, asks ? cache.submit(slots.check(one.call, one.matched).asPartOfBatch()) : null));
    }
    return submitted;
  }

  private List<CheckOutcome> await(List<Submitted> submitted) {
    List<CheckOutcome> outcomes = new ArrayList<>(submitted.size());
    for (Submitted one : submitted) {
      Call call = one.asked.call;
      MatchedPolicies matched = one.asked.matched;
      long nowEpochMillis = one.asked.atEpochMillis;
      Decision decision = one.pending == null ? null : one.pending.join();
      CheckOutcome.Shed shed = shed(decision);
      if (shed != null) {
        slots.giveUpUndecided(call, matched, null, nowEpochMillis);
      }
      outcomes.add(shed == null ? judge.ofCall(call, matched, decision, nowEpochMillis) : shed);
    }
    return outcomes;
  }

  /**
   * Returns the outcomes with the results of recording added to those that were decided, and counts
   * them.
   */
  private List<CheckOutcome> withRecords(List<CheckOutcome> outcomes, List<Recorded> records) {
    List<CheckOutcome> recorded = new ArrayList<>(outcomes.size());
    int next = 0;
    for (CheckOutcome outcome : outcomes) {
      recorded.add(
          outcome instanceof CheckOutcome.Decided decided
              ? withRecord(decided, records.get(next++))
              : outcome);
    }
    return recorded;
  }

  private CheckOutcome withRecord(CheckOutcome.Decided decided, Recorded recorded) {
    if (recorded instanceof Recorded.Refused refused) {
      statistics.notKept.increment();
      HeldSlots held = decided.slots();
      if (held != null) {
        slots.giveUp(held);
      }
      return new CheckOutcome.NotKept(refused);
    }
    statistics.count(decided.call());
    return decided.with(recorded);
  }

  /** Returns what {@link #check} would answer now, and waits for it. */
  public CheckOutcome peek(CallRequest request) {
    return outcomeOf(submitPeek(request));
  }

  /**
   * Returns what {@link #submit(CallRequest)} would answer now. Takes no tokens and records
   * nothing. Does not wait, as that does not.
   */
  public CompletableFuture<CheckOutcome> submitPeek(CallRequest request) {
    return submitPeek(request, null, null);
  }

  /**
   * Returns what {@link #submit(CallRequest, Duration, CallTrace)} would answer now, as {@link
   * #submitPeek(CallRequest)} does.
   *
   * @param patience how long the cache may take; null for as long as it is set to
   * @param trace is told of the decision; null if the call is not traced
   */
  public CompletableFuture<CheckOutcome> submitPeek(
      CallRequest request, @Nullable Duration patience, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.deciding();
    }
    Ticket ticket = log.begin();
    long nowEpochMillis = ticket.begunAtEpochMillis();
    ticket.abandon();
    PolicyMatcher snapshot = policies.get();
    Call call = statistics.keys.find(snapshot, request, nowEpochMillis);
    if (call == null) {
      return keyRefused(trace);
    }
    MatchedPolicies matched = match(snapshot, call, nowEpochMillis);
    Call asked = identified(call, matched);
    if (!matched.needsCheck()) {
      return CompletableFuture.completedFuture(
          told(judge.ofPeek(asked, matched, null, nowEpochMillis), trace));
    }
    return within(patience, cache.submitPeek(HeldSlots.check(asked, matched)))
        .thenApply(
            decision -> {
              CheckOutcome.Shed shed = shed(decision);
              return told(
                  shed == null ? judge.ofPeek(asked, matched, decision, nowEpochMillis) : shed,
                  trace);
            });
  }

  private static CheckOutcome told(CheckOutcome outcome, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.decided(List.of(outcome));
    }
    return outcome;
  }

  /** Returns the outcome of a call that the cache was not asked about, or null if it was. */
  private CheckOutcome.@Nullable Shed shed(@Nullable Decision decision) {
    if (decision instanceof Decision.Undecided none && none.cause() == Decision.Cause.REJECTED) {
      statistics.shed.increment();
      return new CheckOutcome.Shed(none.detail());
    }
    return null;
  }

  /** Returns a call with an id if it may hold slots: the id tells who holds them. */
  private Call identified(Call call, MatchedPolicies matched) {
    return matched.hasSlots() ? call.identified(newIds) : call;
  }

  /** Returns what matches calls of a batch by the present time, not by that of its beginning. */
  private Function<Call, Matched> matchingNow(PolicyMatcher snapshot, Ticket ofBatch) {
    long now = Math.max(nowEpochMillis(), ofBatch.begunAtEpochMillis());
    return call -> {
      MatchedPolicies matched = match(snapshot, call, now);
      return new Matched(identified(call, matched), matched, now);
    };
  }

  private static MatchedPolicies match(PolicyMatcher snapshot, Call call, long nowEpochMillis) {
    Descriptor descriptor = call.descriptor();
    return descriptor == null
        ? snapshot.match(call.facts(), nowEpochMillis)
        : descriptor.apply(
            snapshot.matchAll(call.facts(), nowEpochMillis), call.facts(), nowEpochMillis);
  }
}
