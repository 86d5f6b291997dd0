// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Notifies a command of Ctrl-C or SIGTERM, so that the command ends its output after a whole line.
 * After a signal the process exits with 0 as soon as the command closes this object.
 */
public final class StopRequest implements AutoCloseable {
  /** Maximum time that the process waits for the command. */
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile boolean isRequested;

  private StopRequest() {}

  /** Starts to watch for signals. */
  public static StopRequest watch() {
    StopRequest request = new StopRequest();
    Runtime.getRuntime().addShutdownHook(new Thread(request::shutDown, "weir-stop-request"));
    return request;
  }

  private void shutDown() {
    if (closed.getCount() == 0) {
      return; // the command has ended by itself, with its own status
    }
    isRequested = true;
    try {
      Runtime.getRuntime().halt(closed.await(LIMIT.toMillis(), TimeUnit.MILLISECONDS) ? 0 : 1);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether the process has received a signal. */
  public boolean isRequested() {
    return isRequested;
  }

  /** Reports that the command has written all its output. */
  @Override
  public void close() {
    closed.countDown();
  }
}
