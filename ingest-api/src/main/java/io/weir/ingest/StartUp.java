// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The readiness of a starting node. The node is ready for calls when all corrections have been read
 * and the cache is restored or known to be unavailable. After a maximum wait the node becomes ready
 * anyway, because each policy's failure mode can decide calls. A ready node stays ready when Redis
 * loses data, because the loss affects all nodes equally. Thread-safe.
 */
final class StartUp {
  private static final Logger LOG = LoggerFactory.getLogger(StartUp.class);

  private static final long LOOK_MILLIS = 10;

  private final Supplier<String> missing;
  private final long waitNanos;
  private final long begunNanos = System.nanoTime();
  private volatile boolean isComplete;

  /**
   * Creates the readiness of a node whose start begins now.
   *
   * @param missing returns a text that names the condition for which the start still waits, or the
   *     empty string
   * @param wait maximum wait
   */
  StartUp(Supplier<String> missing, Duration wait) {
    this.missing = missing;
    this.waitNanos = wait.toNanos();
  }

  /** Returns whether the start is complete. */
  boolean isComplete() {
    if (isComplete) {
      return true;
    }
    String what = missing.get();
    if (!what.isEmpty() && System.nanoTime() - begunNanos < waitNanos) {
      return false;
    }
    synchronized (this) {
      if (!isComplete && !what.isEmpty() && waitNanos > 0) {
        LOG.warn(
            "ready_all_the_same missing=\"{}\" waited_ms={}",
            what,
            TimeUnit.NANOSECONDS.toMillis(waitNanos));
      }
      isComplete = true;
    }
    return true;
  }

  /** Waits until the start is complete. */
  void await() throws InterruptedException {
    while (!isComplete()) {
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
  }
}
