// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A call log that measures the duration of its writes. Thread-safe. */
final class TimedCallLog implements CallLog {
  private final CallLog log;
  private final Timer writes;

  TimedCallLog(CallLog log, MeterRegistry registry) {
    this.log = log;
    this.writes =
        Timer.builder("weir.log.write")
            .description("seconds until a call is recorded with the durability of WEIR_DURABILITY")
            .register(registry);
  }

  @Override
  public long nowEpochMillis() {
    return log.nowEpochMillis();
  }

  @Override
  public Ticket begin() {
    return log.begin();
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
    return submit(ticket, calls, null);
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(
      Ticket ticket, List<CallEvent> calls, @Nullable Runnable whenAcked) {
    long begunNanos = System.nanoTime();
    CompletableFuture<List<Recorded>> recorded = log.submit(ticket, calls, whenAcked);
    return calls.isEmpty()
        ? recorded
        : recorded.whenComplete(
            (results, failed) ->
                writes.record(System.nanoTime() - begunNanos, TimeUnit.NANOSECONDS));
  }

  @Override
  public Health check() {
    return log.check();
  }

  @Override
  public void close() {
    log.close();
  }
}
