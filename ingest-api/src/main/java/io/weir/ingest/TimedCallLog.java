// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.topics.model.CallEvent;
import java.util.List;

/** A call log whose writes are timed. Thread-safe. */
final class TimedCallLog implements CallLog {
  private final CallLog log;
  private final Latencies latencies;

  TimedCallLog(CallLog log, Latencies latencies) {
    this.log = log;
    this.latencies = latencies;
  }

  @Override
  public Ticket begin() {
    return log.begin();
  }

  @Override
  public List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
    long begunNanos = System.nanoTime();
    List<Recorded> recorded = log.record(ticket, calls);
    if (!calls.isEmpty()) {
      latencies.written(System.nanoTime() - begunNanos);
    }
    return recorded;
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
