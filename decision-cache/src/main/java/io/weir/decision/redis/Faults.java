// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exceptions that nothing expected, in the threads that must live. The part goes on with its next
 * task; here the fault is counted, logged, and told by the health for a while. Safe for threads.
 */
final class Faults {
  /** How long a fault makes the cache unwell: longer than the pause between two health probes. */
  private static final long STANDS_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Logger LOG = LoggerFactory.getLogger(Faults.class);

  private final LongAdder count = new LongAdder();
  private volatile Fault last = new Fault("", 0);

  private record Fault(String text, long nanos) {}

  /** Takes note of a fault. */
  void note(String part, Throwable fault) {
    count.increment();
    boolean repeated = !recent().isEmpty();
    last = new Fault(part + " failed: " + fault, NanoClock.now());
    if (repeated) {
      LOG.debug("redis_fault part={}", part, fault);
    } else {
      LOG.error("redis_fault part={}; it goes on", part, fault);
    }
  }

  /** Faults so far. */
  long count() {
    return count.sum();
  }

  /** The last fault; empty when there was none for a while. */
  String recent() {
    Fault fault = last;
    return !fault.text.isEmpty() && NanoClock.now() - fault.nanos < STANDS_NANOS ? fault.text : "";
  }
}
