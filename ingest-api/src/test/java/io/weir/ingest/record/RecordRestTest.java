// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A node that nobody calls takes a turn for its heartbeats only; the next call wakes it. */
final class RecordRestTest {
  private static final Duration HEARTBEAT = Duration.ofMillis(900);
  private static final Duration LINGER = Duration.ofMillis(20);

  private final AtomicInteger woken = new AtomicInteger();
  private final AtomicLong nanos = new AtomicLong(1);
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

  private static void record(RecordingEngine engine) {
    assertInstanceOf(
        Recorded.Durable.class,
        engine.record(engine.begin(), List.of(TestCalls.call("id", "acme", 1_000))).get(0));
  }

  private RecordingEngine open() throws Exception {
    RecordConfig config =
        RecordConfig.builder("n1", "unused:9092", Path.of("unused"))
            .linger(LINGER)
            .heartbeatInterval(HEARTBEAT)
            .build();
    EngineThreads threads =
        new EngineThreads(
            Runnable::run, woken::incrementAndGet, () -> {}, EngineThreads.none().faults());
    return new RecordingEngine(
        config,
        DecisionClock.ofSystem(),
        new MemoryJournal(new JournalIdentity("n1", 1_000, 1)),
        () -> outlet,
        new LocalClock(nanos::get, () -> 0),
        threads);
  }
}
