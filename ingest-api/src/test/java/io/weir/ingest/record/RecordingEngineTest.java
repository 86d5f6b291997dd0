// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalIdentity;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The engine turn by turn, on clocks of the test. */
final class RecordingEngineTest {
  private static final Duration HEARTBEAT = Duration.ofMillis(900);
  private static final Duration LINGER = Duration.ofMillis(20);

  private final AtomicInteger woken = new AtomicInteger();
  private final AtomicLong nanos = new AtomicLong(1);
  private final AtomicLong epochMillis = new AtomicLong();
  private final HeldOutlet outlet = new HeldOutlet();

  @Test
  void turn_nothingWaits_restsUntilTheNextHeartbeat_andACallWakesIt() throws Exception {
    RecordingEngine engine = open();
    long pauseNanos = engine.turn();
    while (!engine.isIntroduced()) {
      assertEquals(LINGER.toNanos() / 2, pauseNanos);
      nanos.addAndGet(pauseNanos);
      pauseNanos = engine.turn();
    }
    assertTrue(pauseNanos > HEARTBEAT.toNanos() / 2, "paused " + pauseNanos);
    woken.set(0);

    record(engine);
    assertEquals(1, woken.get());
    assertEquals(LINGER.toNanos() / 2, engine.turn());
    record(engine);
    assertEquals(1, woken.get(), "it does not rest, so it need not be woken");

    nanos.addAndGet(LINGER.toNanos());
    assertEquals(LINGER.toNanos() / 2, engine.turn(), "the batch is not answered yet");
    assertEquals(1, outlet.batches().size());
    outlet.batches().get(0).done().accept(null);
    assertTrue(engine.turn() > LINGER.toNanos());
  }

  @Test
  void begin_clockWasAheadOnce_datesCallsByTheClock_andKeepsThePromise() throws Exception {
    epochMillis.set(8_200_000);
    RecordingEngine engine = open();
    engine.turn();
    long promised = outlet.heartbeats().get(0).header().lowWatermarkEpochMillis();
    assertEquals(8_200_000, promised);

    epochMillis.set(1_000_000); // two hours back
    Ticket ticket = engine.begin();

    assertEquals(1_000_000, ticket.begunAtEpochMillis());
    ticket.abandon();
    nanos.addAndGet(HEARTBEAT.toNanos());
    engine.turn();
    assertEquals(promised, outlet.heartbeats().get(1).header().lowWatermarkEpochMillis());
  }

  /** Once, a fault of the first turn, and of each that followed, kept it from connecting at all. */
  @Test
  void turn_everySealMeetsAFault_connectsAllTheSame() throws Exception {
    FailingJournal journal = new FailingJournal(inMemory());
    journal.failsInSeal.set(Integer.MAX_VALUE);
    List<Throwable> faults = new ArrayList<>();
    AtomicInteger openings = new AtomicInteger();
    RecordingEngine engine =
        open(
            journal,
            () -> {
              openings.incrementAndGet();
              return outlet;
            },
            (part, fault) -> faults.add(fault));
    record(engine);
    nanos.addAndGet(LINGER.toNanos());

    nanos.addAndGet(engine.turn());

    assertEquals(1, faults.size());
    assertEquals(1, openings.get());
  }

  private static void record(RecordingEngine engine) {
    assertInstanceOf(
        Recorded.Durable.class,
        engine.record(engine.begin(), List.of(TestCalls.call("id", "acme", 1_000))).get(0));
  }

  private static Journal inMemory() {
    return Journal.inMemory(new JournalIdentity("n1", 1_000, 1));
  }

  private RecordingEngine open() throws Exception {
    return open(inMemory(), () -> outlet, EngineThreads.none().faults());
  }

  private RecordingEngine open(
      Journal journal, Outlet.Factory outlets, EngineThreads.FaultHandler faults) throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", "unused:9092", Path.of("unused"))
            .linger(LINGER)
            .heartbeatInterval(HEARTBEAT)
            .build();
    LocalClock clock = new LocalClock(nanos::get, epochMillis::get);
    EngineThreads threads =
        new EngineThreads(Runnable::run, woken::incrementAndGet, () -> {}, faults);
    return new RecordingEngine(config, new DecisionClock(clock), journal, outlets, clock, threads);
  }
}
