// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A record of unexpected exceptions in threads that must not end. This record counts and logs each
 * exception, and the health check reports the exception for 30 s. The thread continues with its
 * next task. Thread-safe.
 */
final class ThreadFaults {
  /**
   * Time for which the health check reports an exception. This time is longer than the pause
   * between two health probes.
   */
  private static final long STANDS_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Logger LOG = LoggerFactory.getLogger(ThreadFaults.class);

  private final Runnable onFault;
  private volatile Fault last = new Fault("", 0);

  private record Fault(String text, long nanos) {}

  /**
   * Creates an empty record.
   *
   * @param onFault action that counts an exception
   */
  ThreadFaults(Runnable onFault) {
    this.onFault = onFault;
  }

  /** Records an exception. */
  void note(String part, Throwable fault) {
    onFault.run();
    boolean repeated = !recent().isEmpty();
    last = new Fault(part + " failed: " + fault, NanoClock.now());
    if (repeated) {
      LOG.debug("redis_fault part={}", part, fault);
    } else {
      LOG.error("redis_fault part={}; the thread continues", part, fault);
    }
  }

  /** Returns the last exception; empty if there was no exception in the last 30 s. */
  String recent() {
    Fault fault = last;
    return !fault.text.isEmpty() && NanoClock.now() - fault.nanos < STANDS_NANOS ? fault.text : "";
  }
}
