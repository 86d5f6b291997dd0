// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exceptions that nothing expected, in the threads that record. The part begins anew; here the
 * fault is logged, and told by the health for a while. Safe for threads.
 */
final class RecordFaults implements EngineThreads.FaultHandler {
  /** How long a fault makes the call log unwell; as long as a failed write does. */
  static final long STANDS_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final Logger LOG = LoggerFactory.getLogger(RecordFaults.class);

  private final LocalClock clock;
  private volatile Fault last;

  private record Fault(String text, long nanos) {}

  RecordFaults(LocalClock clock) {
    this.clock = clock;
    this.last = new Fault("", clock.nowNanos());
  }

  @Override
  public void take(String part, Throwable fault) {
    boolean repeated = !recent().isEmpty();
    last = new Fault(part + " failed: " + fault, clock.nowNanos());
    if (repeated) {
      LOG.debug("record_fault part={}", part, fault);
    } else {
      LOG.error("record_fault part={}; it begins anew", part, fault);
    }
  }

  /** The last fault; empty when there was none for a while. */
  String recent() {
    Fault fault = last;
    return clock.nowNanos() - fault.nanos < STANDS_NANOS ? fault.text : "";
  }
}
