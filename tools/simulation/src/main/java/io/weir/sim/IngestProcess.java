// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.correct.CacheWatch;
import io.weir.ingest.correct.CorrectionStatistics;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Leases;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.SlotOutcome;
import io.weir.ingest.gate.SlotToken;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.BatchProducer;
import io.weir.ingest.record.CallRecorder;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.RecordConfig;
import io.weir.ingest.record.journal.JournalException;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.SettleOutcome;
import io.weir.ingest.settle.Settler;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * One ingest process of a node. The process runs Weir's own gate, call recorder, cache watch,
 * correction queue and settler. Events of the scheduler replace the threads of a real process.
 */
final class IngestProcess {
  /**
   * Maximum time that the start of a process waits for its first heartbeats, as in a real process.
   */
  private static final long INTRODUCTION_MICROS = 5_000_000;

  private static final Duration LINGER = Duration.ofMillis(100);

  /** Maximum interval between two checks of the server's generation. */
  private static final long LOOK_MICROS = 1_000_000;

  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * Number of calls of a bucket after which the process takes a lease. The number is low, because
   * calls are rare in the simulation.
   */
  private static final int LEASE_CALLS = 1;

  private final World world;
  private final Node node;
  private final int life;
  private final Chance chance;
  private final CallRecorder recorder;
  private final CheckGate gate;
  private final Leases leases;
  private final List<BucketWitness.Loan> loans = new ArrayList<>();
  private final Settler settler;

  /** Queries the time of Redis once a second, as the health probe of a real node does. */
  private final Runnable askTime;

  private final CacheWatch watch;
  private final CorrectionFeed feed;
  private final PolicySet policies;
  private final long awaitedUntilMicros;
  private AdmittedTokens admitted = AdmittedTokens.NONE;

  /** The newest low watermark that the process has sent. */
  private long promisedMillis;

  /** The maximum low watermark of the process while it holds the newest lease. */
  private long leaseHeldMillis;

  private final CacheLink cache;
  private boolean dead;
  private boolean stopping;
  private boolean saidGoodbye;

  IngestProcess(World world, Node node, int life, SimulatedJournal journal, Chance chance) {
    this.world = world;
    this.node = node;
    this.life = life;
    this.chance = chance;
    this.policies = world.policies();
    SimClock clock = node.clock();
    // without a child registry, this registry discards all metrics
    MeterRegistry registry = new CompositeMeterRegistry();
    LocalClock localClock =
        new LocalClock(
            () -> (world.scheduler().nowMicros() - Scheduler.START_MICROS) * 1_000,
            clock::epochMillis);
    DecisionClock decisionClock = new DecisionClock(localClock);
    this.cache = new CacheLink(world, node, life);
    this.askTime = () -> cache.observeTime(decisionClock);
    askTime.run();
    try {
      this.recorder =
          new CallRecorder(
              config(node.name()),
              decisionClock,
              world.edges().journal(journal),
              this::openProducer,
              localClock,
              registry);
    } catch (JournalException unreadable) {
      throw new InvariantBroken(
          InvariantBroken.Invariant.BILLED, "the journal cannot be read: " + unreadable);
    }
    CallLog log = new RecorderLog(recorder);
    LocalDecider local =
        new LocalDecider(
            world.plan().nodes(),
            () -> Math.max(1, decisionClock.nowEpochMillis()) * MICROS_PER_MILLI);
    PolicyMatcher matcher = PolicyMatcher.of(world.withLasting(world.withLeases(policies)));
    Leases leases =
        new Leases(
            check -> cache.lend(check, leaseHeldMillis),
            this::leaseTicket,
            LEASE_CALLS,
            localClock.nanos(),
            this::later,
            registry);
    this.gate = new CheckGate(() -> matcher, cache, local, log, world::nextId, leases, registry);
    this.leases = leases;
    this.settler =
        new Settler(new LogSearch(world, node.name()), log, settlement -> null, registry);
    LocalClock correcting = new LocalClock(localClock.nanos(), clock::epochMillis);
    CorrectionStatistics statistics = new CorrectionStatistics(registry);
    this.watch =
        new CacheWatch(
            cache, world.announcer(node), statistics, correcting, decisionClock::nowEpochMillis);
    this.feed = new CorrectionFeed(world, node, cache, statistics, correcting);
    this.awaitedUntilMicros =
        world.scheduler().nowMicros()
            + (world.kafka().isReachedBy(node.name()) ? INTRODUCTION_MICROS : 0);
  }

  private static RecordConfig config(String node) {
    return RecordConfig.builder(node, KafkaConnection.to("simulated:9092"), Path.of("simulated"))
        .linger(LINGER)
        .maxBatchLines(3)
        .heartbeatInterval(Duration.ofSeconds(1))
        .build();
  }

  private BatchProducer openProducer() throws BatchProducer.UnavailableException {
    if (!world.kafka().isReachedBy(node.name())) {
      throw new BatchProducer.UnavailableException("away", new IllegalStateException("away"));
    }
    return new SimulatedProducer(
        world, node.name(), promised -> promisedMillis = Math.max(promisedMillis, promised));
  }

  /** Adapts the recorder to the gate's interface. */
  private record RecorderLog(CallRecorder recorder) implements CallLog {
    @Override
    public long nowEpochMillis() {
      return recorder.nowEpochMillis();
    }

    @Override
    public Ticket begin() {
      return recorder.begin();
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
      return recorder.submit(ticket, calls);
    }

    @Override
    public Health check() {
      return new Health(true, "simulated");
    }

    @Override
    public void close() {}
  }

  void begin() {
    turn();
    look();
    apply();
  }

  private Ticket leaseTicket() {
    Ticket ticket = recorder.begin();
    // if the process starts with a clock behind the watermark in its journal, it has already sent a
    // greater low watermark
    leaseHeldMillis = Math.max(ticket.heldAtEpochMillis(), promisedMillis);
    return world.edges().leaseTicket(ticket, recorder::begin);
  }

  /**
   * Runs a task later, unless the process is dead by then. If the process is paused, the task runs
   * after the pause.
   */
  private void later(long nanos, Runnable task) {
    world
        .scheduler()
        .after(
            nanos / 1_000 + 1,
            "a lease of " + node.name() + " ends",
            () -> {
              if (!dead && node.isPaused()) {
                later(10_000_000, task);
              } else if (!dead) {
                task.run();
              }
            });
  }

  private void useLoan(CallEvent call, Charge charge) {
    for (BucketWitness.Loan loan : loans) {
      if (loan.use(charge, call.decidedAtEpochMillis())) {
        if (promisedMillis > loan.heldMillis()) {
          throw new InvariantBroken(
              InvariantBroken.Invariant.PROMISE,
              node.name()
                  + " has sent the low watermark "
                  + promisedMillis
                  + ", but decides by a lease that holds the low watermark at "
                  + loan.heldMillis());
        }
        return;
      }
    }
    throw new InvariantBroken(
        InvariantBroken.Invariant.ADMITTED, "no tokens are leased for " + charge);
  }

  /** Records leased tokens. If the process dies, the tokens are lost. */
  void lent(List<BucketWitness.Loan> lent) {
    loans.addAll(lent);
  }

  void die() {
    dead = true;
    loans.forEach(BucketWitness.Loan::end);
    feed.die();
    cache.close();
  }

  /** Stops normally: sends the remaining lines, and then the final heartbeats. */
  void stop() {
    stopping = true;
    leases.close();
    recorder.beginClosing();
  }

  /** Returns whether the process still uses limits that are no longer in force. */
  boolean isOutdated() {
    return !policies.equals(world.policies());
  }

  boolean isReady() {
    return !stopping
        && (recorder.isRegistered() || world.scheduler().nowMicros() >= awaitedUntilMicros);
  }

  CheckOutcome check(Call call) {
    CheckOutcome outcome = null;
    try {
      outcome = gate.check(call);
      if (outcome instanceof CheckOutcome.Decided decided
          && decided.call().decidedBy() == DecidedBy.LEASE) {
        world.count("decided by leases");
        decided.call().charges().forEach(charge -> useLoan(decided.call(), charge));
      }
      return outcome;
    } finally {
      // no event runs between the cache's reply and this line, so the tokens belong to this call
      AdmittedTokens tokens = admitted;
      admitted = AdmittedTokens.NONE;
      if (!(outcome instanceof CheckOutcome.Decided)) {
        tokens.takeBack();
      }
    }
  }

  /** Records that the cache has admitted the current call. */
  void admitted(AdmittedTokens tokens) {
    admitted = tokens;
  }

  SlotOutcome renewSlots(SlotToken token) {
    return withoutTokens(() -> gate.slots().renew(token));
  }

  SlotOutcome releaseSlots(SlotToken token) {
    return withoutTokens(() -> gate.slots().release(token));
  }

  /** Sends a request for slots, which admits no tokens. */
  private SlotOutcome withoutTokens(Supplier<CompletableFuture<SlotOutcome>> question) {
    try {
      return question.get().join();
    } finally {
      admitted = AdmittedTokens.NONE;
    }
  }

  SettleOutcome settle(CallQuery query, long actualCost) {
    return settler.settle(query, actualCost);
  }

  private void turn() {
    if (dead) {
      return;
    }
    long pauseMicros = chance.millis(20, world.isHealed() ? 200 : 120);
    if (!node.isPaused()) {
      try {
        if (recorder.runOnce() / 1_000 > pauseMicros) {
          pauseMicros = chance.millis(100, 200);
        }
        depart();
      } catch (Crash crash) {
        node.diedOf(this);
        return;
      }
    }
    if (!dead) {
      world.scheduler().after(pauseMicros, "a turn of " + node.name(), this::turn);
    }
  }

  private void depart() {
    if (!stopping || !recorder.isDrained()) {
      return;
    }
    if (saidGoodbye) {
      die();
      node.stopped();
    } else {
      saidGoodbye = true;
      recorder.sendFinalHeartbeats();
    }
  }

  private void look() {
    if (dead) {
      return;
    }
    long pauseMicros = LOOK_MICROS;
    if (!node.isPaused()) {
      askTime.run();
      if (cache.isUp()) {
        gate.slots().cacheAnswers(world.redis().clock().epochMicros());
      }
      long pauseMillis = watch.look();
      pauseMicros = pauseMillis > 0 ? pauseMillis * MICROS_PER_MILLI : LOOK_MICROS;
    }
    world.scheduler().after(pauseMicros, node.name() + " looks at the cache", this::look);
  }

  /**
   * Checks the cache at once, as the watch of a real node does. Called when a decision has found
   * that the cache is not restored.
   */
  void suspectCache() {
    if (!dead && !node.isPaused()) {
      long unused = watch.look();
    }
  }

  private void apply() {
    if (dead) {
      return;
    }
    if (!node.isPaused()) {
      feed.turn();
    }
    world
        .scheduler()
        .after(
            chance.millis(20, world.isHealed() ? 300 : 200),
            node.name() + " reads corrections",
            this::apply);
  }

  int life() {
    return life;
  }
}
