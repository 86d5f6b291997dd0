// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for Ctrl-C or SIGTERM, then closes what was started before the process ends. */
final class Stop {
  private static final Logger LOG = LoggerFactory.getLogger(Stop.class);

  private Stop() {}

  /**
   * Closes a resource when the process is asked to end, or when the resource has failed by itself.
   * A process that was asked, and could close it, ends with 0 rather than with the status of a
   * signal, so that no supervisor takes it for a failure.
   *
   * @param hasFailed asked every second
   * @return the status the process shall end with: 1 after a failure
   */
  static int awaitAndClose(AutoCloseable resource, BooleanSupplier hasFailed)
      throws InterruptedException {
    AtomicBoolean asked = new AtomicBoolean();
    AtomicInteger status = new AtomicInteger();
    CountDownLatch closed = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  asked.set(true);
                  try {
                    resource.close();
                  } catch (Exception failed) {
                    LOG.error("could not stop in order", failed);
                    status.set(1);
                  }
                  closed.countDown();
                  Runtime.getRuntime().halt(status.get());
                },
                "weir-stop"));
    while (!closed.await(1, TimeUnit.SECONDS)) {
      // what is being closed looks as if it had failed, so this is asked last
      if (hasFailed.getAsBoolean() && !asked.get()) {
        LOG.error("a part has stopped for good; the process ends");
        status.set(1);
        return 1;
      }
    }
    return 0;
  }
}
