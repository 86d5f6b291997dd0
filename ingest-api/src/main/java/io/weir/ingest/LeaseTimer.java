// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Leases;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The token leases of a node, and the thread that ends them. The thread is idle while there are no
 * leases.
 */
final class LeaseTimer implements AutoCloseable {
  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(
          1,
          work -> {
            Thread made = new Thread(work, "weir-leases");
            made.setDaemon(true);
            return made;
          });
  private final Leases leases;

  LeaseTimer(DecisionCache cache, CallLog log, MeterRegistry registry) {
    thread.prestartCoreThread(); // now, while the process can still create threads
    leases =
        new Leases(
            cache::submit, log::begin, Leases.LEAST_CALLS, System::nanoTime, this::after, registry);
  }

  private void after(long nanos, Runnable task) {
    try {
      var unused = thread.schedule(task, nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closed) {
      task.run();
    }
  }

  Leases leases() {
    return leases;
  }

  /** Ends all leases and the thread. */
  @Override
  public void close() {
    leases.close();
    thread.shutdownNow();
  }
}
