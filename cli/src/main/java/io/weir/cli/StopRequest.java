// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Notifies a command of Ctrl-C or SIGTERM, so that it ends its output after a whole line. The
 * process ends with 0 once the command has closed this.
 */
final class StopRequest implements AutoCloseable {
  /** How long the process waits for the command. */
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean asked;

  private StopRequest() {}

  /** Starts to watch for a request to stop. */
  static StopRequest watch() {
    StopRequest request = new StopRequest();
    Runtime.getRuntime().addShutdownHook(new Thread(request::shutDown, "weir-stop-request"));
    return request;
  }

  private void shutDown() {
    if (over.getCount() == 0) {
      return; // the command has ended by itself, with its own status
    }
    asked = true;
    try {
      Runtime.getRuntime().halt(over.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS) ? 0 : 1);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether the command is asked to end. */
  boolean isAsked() {
    return asked;
  }

  /** Signals that the command has written all its output. */
  @Override
  public void close() {
    over.countDown();
  }
}
