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
 * Decides calls, then records them. A call is answered only after its record is as durable as the
 * deployment requires. One snapshot of the policies decides and records a call. Thread-safe. {@link
 * #submit(CallRequest)} blocks no thread. A batch blocks its thread while the cache decides (up to
 * the cache timeout), while the log writes, and while other batches use the cache.
 */
public final class CheckGate {
  private static final CompletableFuture<CheckOutcome> KEY_REFUSED =
      CompletableFuture.completedFuture(CheckOutcome.KeyRefused.INSTANCE);

  private static final Decision TOO_LATE =
      new Decision.Undecided(
          Decision.Cause.TIMEOUT, "the cache did not answer within the caller's timeout");

  /** Runs the stages that follow a timeout, at most one per pending call; none of them blocks. */
  private static final Executor AFTER_TIMEOUTS =
      Executors.newFixedThreadPool(
          2,
          task -> {
            Thread thread = new Thread(task, "weir-after-timeout");
            thread.setDaemon(true);
            return thread;
          });

  /** Number of keys at which a part of a batch is complete and is submitted. */
  private static final int KEYS_PER_PART = 512;

  /**
   * Maximum number of keys that all batches together may have in the cache's queue: about 50 ms of
   * work. With this bound no check of a batch waits in the queue until its deadline.
   */
  private static final int MAX_BATCH_KEYS = 8 * KEYS_PER_PART;

  private final Supplier<PolicyMatcher> policies;
  private final DecisionCache cache;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics;
  private final @Nullable Leases leases;
  private final Slots slots;
  private final Judge judge;
  private final UsageLog usage;
  private final Semaphore keysOfBatches = new Semaphore(MAX_BATCH_KEYS, true);

  /** A call of a batch, and the policies that match it at the given time. */
  private record Matched(Call call, MatchedPolicies matched, long atEpochMillis) {}

  /**
   * A call whose check has been submitted; {@code pending} is null if no policy matches the call.
   */
  private record Submitted(Matched asked, @Nullable CompletableFuture<Decision> pending) {}

  /** Calls of a batch that are decided together, and the number of keys that the cache reads. */
  private record Part(List<Matched> calls, int keys) {
    /** Returns the part at the beginning of the list. */
    static Part of(List<Call> calls, Function<Call, Matched> matching) {
      List<Matched> part = new ArrayList<>();
      int keys = 0;
      for (Call call : calls) {
        Matched one = matching.apply(call);
        part.add(one);
        for (MatchedPolicy match : one.matched.evaluated()) {
          keys += match.bucket().limit().keys();
        }
        if (keys >= KEYS_PER_PART) {
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
   * @param policies returns the policies in force; called once per call; may return a different
   *     object each time
   * @param local decides while the cache is unavailable, for policies with failure mode {@code
   *     local}
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
   * @param policies returns the policies in force; called once per call; may return a different
   *     object each time
   * @param local decides while the cache is unavailable, for policies with failure mode {@code
   *     local}
   * @param newIds returns an id for a call that has none
   * @param leases tokens that single calls may take without a cache query; null for none
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

  /** Returns the object that renews and releases the slots that calls hold. */
  public Slots slots() {
    return slots;
  }

  /** Returns the object that records usage events. */
  public UsageLog usage() {
    return usage;
  }

  /** Returns the metrics of this gate. */
  GateStatistics statistics() {
    return statistics;
  }

  /**
   * Applies policy replacements to the calls of one request of Envoy's rate limit service. A policy
   * that applies to one call can replace named policies for all calls of the request. The current
   * policies determine the replacements; each call is later decided by the policies in force then.
   *
   * @param calls calls that represent descriptors
   * @return the same list instance if no policy is replaced
   */
  public List<Call> applyReplacements(List<Call> calls) {
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
    return replaced.isEmpty()
        ? calls
        : calls.stream().map(one -> one.withReplacedPolicies(replaced)).toList();
  }

  /** Decides and records a call, and waits for the outcome. */
  public CheckOutcome check(CallRequest request) {
    return outcomeOf(submit(request));
  }

  /**
   * Decides and records a call, and returns without waiting for the outcome.
   *
   * @return completes with the outcome on a thread of the cache or of the log, so dependent actions
   *     must not block; completes exceptionally only after a fault of this process
   */
  public CompletableFuture<CheckOutcome> submit(CallRequest request) {
    return submit(request, null, null);
  }

  /**
   * Decides and records a call as {@link #submit(CallRequest)} does, but waits for the cache no
   * longer than the given timeout. After it, the policies' failure modes decide.
   *
   * @param timeout maximum time for the cache's reply; null for the cache's own timeout
   * @param trace receives each step; null if the call is not traced
   */
  public CompletableFuture<CheckOutcome> submit(
      CallRequest request, @Nullable Duration timeout, @Nullable CallTrace trace) {
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
      boolean needsCheck = matched.needsCheck();
      leased = leases == null || !needsCheck ? null : leases.take(matched, call.cost());
      pending =
          leased != null || !needsCheck
              ? null
              : within(timeout, cache.submit(slots.check(call, matched)));
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    Call asked = call;
    if (leased != null) {
      ticket.abandon(); // the call has a ticket dated when the lease was requested
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

  /** Writes calls to the log and reports the steps to the trace, if there is one. */
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
   * Returns the decision, or an undecided one after the timeout. Dependent stages run on other
   * threads, because the JDK has one thread for all timeouts of the process.
   */
  private static CompletableFuture<Decision> within(
      @Nullable Duration timeout, CompletableFuture<Decision> pending) {
    if (timeout == null) {
      return pending;
    }
    CompletableFuture<Decision> within = new CompletableFuture<>();
    var unused =
        pending
            .copy()
            .completeOnTimeout(TOO_LATE, timeout.toNanos(), TimeUnit.NANOSECONDS)
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

  /** Records a call that a lease decided. The tokens stay taken even if recording fails. */
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

  /** Waits for an outcome and rethrows the original fault, if any. */
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
   * Decides each call by itself and records the decided calls together: the log accepts all of them
   * or none. Submits the checks in parts of some hundred keys, each part before it waits for a
   * decision of that part. So the cache decides the part together and has room for single checks.
   * After a shed check, all later parts are shed. Calls of one bucket are charged in list order.
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
   * @param trace receives each step of all calls together; null if they are not traced
   */
  public List<CheckOutcome> check(List<? extends CallRequest> requests, @Nullable CallTrace trace) {
    if (requests.isEmpty() || requests.size() > CallLog.MAX_CALLS) {
      throw new IllegalArgumentException(
          "number of calls must be 1 to " + CallLog.MAX_CALLS + ", but is " + requests.size());
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
   * Decides checks together. A part of a batch first waits for room among the parts of other
   * batches.
   *
   * @param matchingNow returns a function that matches the calls again after they waited for room
   */
  private List<CheckOutcome> decide(Part part, Supplier<Function<Call, Matched>> matchingNow) {
    if (part.calls.size() == 1 && part.keys < KEYS_PER_PART) {
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
      boolean needsCheck = one.matched.needsCheck();
      submitted.add(
          new Submitted(
              one,
              needsCheck
                  ? cache.submit(slots.check(one.call, one.matched).asPartOfBatch())
                  : null));
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
   * Returns the outcomes with the results of recording added to the decided calls, and counts them.
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

  /** Returns the outcome that {@link #check} would have now, and waits for it. */
  public CheckOutcome peek(CallRequest request) {
    return outcomeOf(submitPeek(request));
  }

  /**
   * Returns the outcome that {@link #submit(CallRequest)} would have now. Takes no tokens, records
   * nothing and does not wait.
   */
  public CompletableFuture<CheckOutcome> submitPeek(CallRequest request) {
    return submitPeek(request, null, null);
  }

  /**
   * Returns the outcome that {@link #submit(CallRequest, Duration, CallTrace)} would have now, as
   * {@link #submitPeek(CallRequest)} does.
   *
   * @param timeout maximum time for the cache's reply; null for the cache's own timeout
   * @param trace receives the decision; null if the call is not traced
   */
  public CompletableFuture<CheckOutcome> submitPeek(
      CallRequest request, @Nullable Duration timeout, @Nullable CallTrace trace) {
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
          traced(judge.ofPeek(asked, matched, null, nowEpochMillis), trace));
    }
    return within(timeout, cache.submitPeek(HeldSlots.check(asked, matched)))
        .thenApply(
            decision -> {
              CheckOutcome.Shed shed = shed(decision);
              return traced(
                  shed == null ? judge.ofPeek(asked, matched, decision, nowEpochMillis) : shed,
                  trace);
            });
  }

  private static CheckOutcome traced(CheckOutcome outcome, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.decided(List.of(outcome));
    }
    return outcome;
  }

  /**
   * Returns the shed outcome if the cache's client rejected the check because of overload; else
   * null.
   */
  private CheckOutcome.@Nullable Shed shed(@Nullable Decision decision) {
    if (decision instanceof Decision.Undecided none && none.cause() == Decision.Cause.REJECTED) {
      statistics.shed.increment();
      return new CheckOutcome.Shed(none.detail());
    }
    return null;
  }

  /** Returns a call with an id if it may hold slots: the id identifies their holder. */
  private Call identified(Call call, MatchedPolicies matched) {
    return matched.hasSlots() ? call.identified(newIds) : call;
  }

  /**
   * Returns a function that matches calls of a batch at the current time, not at the batch's start.
   */
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
