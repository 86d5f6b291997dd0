// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Leases;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.servers.RedisServer;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Measures how many calls per second {@code CheckGate} decides for a few busy clients with leases
 * of tokens. The measured time includes the match of policies and the creation of the record. The
 * record is not written.
 */
final class LeasedDecisions {
  private static final int CALLERS = 2;
  private static final int CLIENTS = 10;
  private static final long CAPACITY = 100_000_000;
  private static final long LEASED_TOKENS = CAPACITY / 20;
  private static final long LEASED_MICROS = 200_000;

  private LeasedDecisions() {}

  /** A call log that discards every record. */
  private static final class NoLog implements CallLog, Ticket {
    private static final Recorded DROPPED = new Recorded.Dropped();

    @Override
    public long nowEpochMillis() {
      return System.currentTimeMillis();
    }

    @Override
    public Ticket begin() {
      return this;
    }

    @Override
    public long begunAtEpochMillis() {
      return System.currentTimeMillis();
    }

    @Override
    public Ticket again() {
      return this;
    }

    @Override
    public void abandon() {
      // nothing is held
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
      return CompletableFuture.completedFuture(calls.stream().map(call -> DROPPED).toList());
    }

    @Override
    public Health check() {
      return new Health(true, "");
    }

    @Override
    public void close() {
      // nothing is open
    }
  }

  static Callers.Result run(RedisServer redis, Duration warmUp, Duration length)
      throws InterruptedException {
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    MeterRegistry registry = new SimpleMeterRegistry();
    LongAdder byLease = new LongAdder();
    LongAdder others = new LongAdder();
    NoLog log = new NoLog();
    try (RedisDecisionCache cache =
            RedisDecisionCache.start(
                RedisCacheConfig.of(redis.uri()).withDeadline(Duration.ofSeconds(2)));
        Leases leases =
            new Leases(
                cache::submit,
                log::begin,
                Leases.LEAST_CALLS,
                System::nanoTime,
                (nanos, task) -> {
                  var unused = timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
                },
                registry)) {
      CheckGate gate = gate(cache, leases, log, registry);
      Callers.Result result =
          Callers.run(
              "weir, gate with leases",
              CALLERS,
              CLIENTS,
              warmUp,
              length,
              key -> {
                Call call =
                    new Call("c" + key, "GET /v1/items", CallEvent.DEFAULT_METER, 1, "id", null);
                boolean isLeased =
                    gate.check(call) instanceof CheckOutcome.Decided decided
                        && decided.call().decidedBy() == DecidedBy.LEASE;
                (isLeased ? byLease : others).increment();
              });
      if (others.sum() > byLease.sum() / 100) {
        throw new IllegalStateException(
            others.sum() + " calls were not decided by leases, " + byLease.sum() + " were");
      }
      return result;
    } finally {
      timer.shutdownNow();
    }
  }

  private static CheckGate gate(
      RedisDecisionCache cache, Leases leases, CallLog log, MeterRegistry registry) {
    Policy policy =
        new Policy(
                "burst",
                PolicyMatch.ANY,
                List.of(KeyPart.CLIENT),
                new TokenBucketLimit(CAPACITY, CAPACITY, 1_000_000),
                PolicyMode.ENFORCE,
                CacheFailureMode.LOCAL)
            .toBuilder().lease(new LeaseTerms(LEASED_TOKENS, LEASED_MICROS)).build();
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, List.of(policy)));
    return new CheckGate(
        () -> matcher,
        cache,
        new LocalDecider(1, () -> System.currentTimeMillis() * 1_000),
        log,
        () -> "made",
        leases,
        registry);
  }
}
