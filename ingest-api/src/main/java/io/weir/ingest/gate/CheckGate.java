// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.PolicyMatcher;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls and records them. Each call passes the same steps:
 *
 * <ol>
 *   <li>match: find the client and the policies that match the call
 *   <li>decide: request a decision from the cache, or take tokens from a lease
 *   <li>judge: convert the decision to an outcome ({@link Judge})
 *   <li>record: write the call to the log ({@link OutcomeRecorder})
 *   <li>answer: complete the outcome, after the record has the durability that {@code
 *       WEIR_DURABILITY} requires
 * </ol>
 *
 * <p>A peek is not recorded. All calls of a batch pass each step together, except the step
 * <i>decide</i>: {@link BatchDecider} decides the calls in parts. The gate decides and records a
 * call with the same snapshot of the policies. {@link #submit(CallRequest)} blocks no thread.
 * {@link #check(List)} blocks the calling thread while the cache decides, while the log writes, and
 * while other batches use the cache. Thread-safe.
 */
public final class CheckGate {
  private static final CompletableFuture<CheckOutcome> KEY_REFUSED =
      CompletableFuture.completedFuture(CheckOutcome.KeyRefused.INSTANCE);

  private static final Decision TOO_LATE =
      new Decision.Undecided(
          Decision.Cause.TIMEOUT, "the cache did not answer within the caller's timeout");

  /** Runs the dependent stages of decisions after a timeout. The stages do not block. */
  private static final Executor AFTER_TIMEOUTS =
      Executors.newFixedThreadPool(
          2,
          task -> {
            Thread thread = new Thread(task, "weir-after-timeout");
            thread.setDaemon(true);
            return thread;
          });

  private final Supplier<PolicyMatcher> policies;
  private final DecisionCache cache;
  private final CallLog log;
  private final Supplier<String> newIds;
  private final GateStatistics statistics;
  private final @Nullable Leases leases;
  private final Slots slots;
  private final Judge judge;
  private final UsageLog usage;
  private final OutcomeRecorder recorder;
  private final BatchDecider batches;

  /**
   * Creates a gate.
   *
   * @param policies returns the policies in force; called once per call; each invocation may return
   *     another object
   * @param local decides while the cache is unavailable, for policies with failure mode {@code
   *     local}
   * @param newIds returns a new id for a call without an id
   * @param leases the leases from which single calls may take tokens without a cache query; null
   *     for none
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
    this.slots = new Slots(policies, cache, local, log::nowEpochMillis, statistics.slots);
    this.judge = new Judge(local, slots, statistics, newIds);
    this.recorder = new OutcomeRecorder(log, slots, statistics);
    this.batches = new BatchDecider(cache, log, newIds, statistics, slots, judge);
    this.usage = new UsageLog(policies, log, registry);
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
   * policies determine the replacements. Each call is decided later, by the policies in force at
   * the time of its decision.
   *
   * @param calls calls that represent descriptors
   * @return the same list instance if no policy is replaced
   */
  public List<Call> applyReplacements(List<Call> calls) {
    PolicyMatcher snapshot = policies.get();
    if (calls.size() < 2 || !snapshot.replaces()) {
      return calls;
    }
    long nowEpochMillis = log.nowEpochMillis();
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
   * @return completes with the outcome, or exceptionally after an unexpected exception. Dependent
   *     actions must not block, because they run on a thread of the cache or of the log
   */
  public CompletableFuture<CheckOutcome> submit(CallRequest request) {
    return submit(request, null, null);
  }

  /**
   * Decides and records a call like {@link #submit(CallRequest)}, but with the given timeout for
   * the cache. After the timeout the policies' failure modes decide.
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
      Call named = statistics.keys.find(snapshot, request, nowEpochMillis);
      if (named == null) {
        ticket.abandon();
        return keyRefused(trace);
      }
      matched = named.match(snapshot, nowEpochMillis);
      call = named.identified(matched, newIds);
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
    if (leased != null) {
      ticket.abandon(); // a call of a lease has a ticket with the time of the lease's request
      return recordLeased(call, matched, leased, trace);
    }
    return pending == null
        ? record(ticket, call, matched, null, nowEpochMillis, trace)
        : pending.thenCompose(
            decision -> record(ticket, call, matched, decision, nowEpochMillis, trace));
  }

  /**
   * Judges and records a call that took tokens from a lease. If recording fails, the tokens do not
   * return to the lease.
   */
  private CompletableFuture<CheckOutcome> recordLeased(
      Call call, MatchedPolicies matched, LeasedBuckets.Taken leased, @Nullable CallTrace trace) {
    CheckOutcome outcome;
    try {
      outcome = traced(judge.ofLease(call, matched, leased), trace);
    } catch (RuntimeException | Error failed) {
      leased.ticket().abandon();
      throw failed;
    }
    return recorder.record(leased.ticket(), outcome, trace);
  }

  /**
   * Judges and records a call.
   *
   * @param decision the cache's decision; null if the call needed no check
   */
  private CompletableFuture<CheckOutcome> record(
      Ticket ticket,
      Call call,
      MatchedPolicies matched,
      @Nullable Decision decision,
      long nowEpochMillis,
      @Nullable CallTrace trace) {
    CheckOutcome outcome;
    try {
      outcome = traced(judge.ofCall(call, matched, decision, nowEpochMillis), trace);
      if (leases != null && decision instanceof Decision.Allowed) {
        leases.noteAllowed(matched, call.cost());
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return recorder.record(ticket, outcome, trace);
  }

  /**
   * Decides each call separately, and records the decided calls together: the log accepts either
   * all calls or no call. Submits the checks in parts of some hundred keys, and waits for the
   * decisions of a part before the next part. A large batch therefore does not delay single checks.
   * If a check is shed, all later parts of the batch are shed too. If several calls share a bucket,
   * they take tokens in list order.
   *
   * @param requests 1 to {@value CallLog#MAX_CALLS}
   * @return the outcome of each call, in the list's order
   */
  public List<CheckOutcome> check(List<? extends CallRequest> requests) {
    return check(requests, null);
  }

  /**
   * Decides and records calls like {@link #check(List)}.
   *
   * @param trace receives the steps of all calls together; null if the batch is not traced
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
    try {
      long nowEpochMillis = ticket.begunAtEpochMillis();
      PolicyMatcher snapshot = policies.get();
      KeyLookup.Found found = statistics.keys.find(snapshot, requests, nowEpochMillis);
      outcomes = found.outcomes(batches.decide(snapshot, found.calls(), nowEpochMillis));
      if (trace != null) {
        trace.decided(outcomes);
      }
    } catch (RuntimeException | Error failed) {
      ticket.abandon();
      throw failed;
    }
    return recorder.record(ticket, outcomes, trace);
  }

  /** Returns the outcome that {@link #check} would have now. Waits for the outcome. */
  public CheckOutcome peek(CallRequest request) {
    return outcomeOf(submitPeek(request));
  }

  /**
   * Returns the outcome that {@link #submit(CallRequest)} would have now. Takes no tokens, records
   * no call, and does not wait.
   */
  public CompletableFuture<CheckOutcome> submitPeek(CallRequest request) {
    return submitPeek(request, null, null);
  }

  /**
   * Returns the outcome that {@link #submit(CallRequest, Duration, CallTrace)} would have now.
   * Takes no tokens, records no call, and does not wait.
   *
   * @param timeout maximum time for the cache's reply; null for the cache's own timeout
   * @param trace receives the decision; null if the call is not traced
   */
  public CompletableFuture<CheckOutcome> submitPeek(
      CallRequest request, @Nullable Duration timeout, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.deciding();
    }
    long nowEpochMillis = log.nowEpochMillis();
    PolicyMatcher snapshot = policies.get();
    Call named = statistics.keys.find(snapshot, request, nowEpochMillis);
    if (named == null) {
      return keyRefused(trace);
    }
    MatchedPolicies matched = named.match(snapshot, nowEpochMillis);
    Call call = named.identified(matched, newIds);
    if (!matched.needsCheck()) {
      return CompletableFuture.completedFuture(
          traced(judge.ofPeek(call, matched, null, nowEpochMillis), trace));
    }
    return within(timeout, cache.submitPeek(HeldSlots.check(call, matched)))
        .thenApply(
            decision -> traced(judge.ofPeek(call, matched, decision, nowEpochMillis), trace));
  }

  private static CheckOutcome traced(CheckOutcome outcome, @Nullable CallTrace trace) {
    if (trace != null) {
      trace.decided(List.of(outcome));
    }
    return outcome;
  }

  private static CompletableFuture<CheckOutcome> keyRefused(@Nullable CallTrace trace) {
    var unused = traced(CheckOutcome.KeyRefused.INSTANCE, trace);
    return KEY_REFUSED;
  }

  /**
   * Returns the decision, or an undecided decision after the timeout. Dependent stages do not run
   * on the JDK's timeout thread, because all timeouts of the process share that thread.
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

  /**
   * Waits for an outcome. If the future completes exceptionally, rethrows the original exception.
   */
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
}
