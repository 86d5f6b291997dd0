// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Tells a command that Ctrl-C or SIGTERM has come, so that it ends behind a whole line. The process
 * then ends with 0, when the command has closed this.
 */
final class StopRequest implements AutoCloseable {
  /** How long the process waits for the command. */
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean asked;

  private StopRequest() {}

  /** Watches from now on. */
  static StopRequest watch() {
    StopRequest request = new StopRequest();
    Runtime.getRuntime().addShutdownHook(new Thread(request::shutDown, "weir-stop-request"));
    return request;
  }

  private void shutDown() {
    if (over.getCount() == 0) {
      return; // the command has ended by itself, with a status of its own
    }
    asked = true;
    try {
      Runtime.getRuntime().halt(over.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS) ? 0 : 1);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether the command is to end. */
  boolean isAsked() {
    return asked;
  }

  /** Says that the command has written everything. */
  @Override
  public void close() {
    over.countDown();
  }
}
