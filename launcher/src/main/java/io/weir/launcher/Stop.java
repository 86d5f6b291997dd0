// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for Ctrl-C or SIGTERM, then closes what was started before the process ends. */
final class Stop {
  private static final Logger LOG = LoggerFactory.getLogger(Stop.class);

  private Stop() {}

  /** Closes a resource when the process is asked to end; never returns before that. */
  static void awaitAndClose(AutoCloseable resource) throws InterruptedException {
    CountDownLatch closed = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    resource.close();
                  } catch (Exception failed) {
                    LOG.error("could not stop in order", failed);
                  }
                  closed.countDown();
                },
                "weir-stop"));
    closed.await();
  }
}
