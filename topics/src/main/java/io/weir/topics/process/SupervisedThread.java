// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread that does one piece of work for as long as the process lives. Work that fails is
 * begun anew after a pause, whatever it failed of; only {@link #close} ends the thread, or an
 * exception of {@link Work#failed} itself. Thread-safe.
 */
public final class SupervisedThread implements AutoCloseable {
  /** The work of a thread. */
  public interface Work {
    /**
     * Works until {@link #isClosing}. May return earlier, and is then begun anew at once.
     *
     * @throws InterruptedException if the thread was interrupted; while it is not being closed,
     *     that is a failure as any other
     */
    void run() throws InterruptedException;

    /**
     * Is told why the work has failed; not called while the thread is being closed.
     *
     * @return how long to pause before the work is begun anew, in milliseconds
     */
    long failed(Throwable failure);

    /**
     * Ends what the work may be blocked in, since the thread is being closed. Called on the thread
     * that closes.
     *
     * @param worker the thread that does the work
     */
    void wakeUp(Thread worker);
  }

  private static final Logger LOG = LoggerFactory.getLogger(SupervisedThread.class);

  /** The pause after a failure that the work could not be told of. */
  private static final long PAUSE_UNTOLD_MILLIS = 1_000;

  private final Work work;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;

  /**
   * Creates a thread that is not started yet.
   *
   * @param name the thread's name
   */
  public SupervisedThread(String name, Work work) {
    this.work = work;
    this.thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.setUncaughtExceptionHandler(
        (ended, error) -> LOG.error("thread_ended thread={}", ended.getName(), error));
  }

  /** Starts the thread. Must be called once. */
  public void start() {
    thread.start();
  }

  private void run() {
    while (!isClosing()) {
      try {
        work.run();
      } catch (InterruptedException | RuntimeException | Error failure) {
        if (isClosing()) {
          LOG.debug("failed while it was closed thread={}", thread.getName(), failure);
        } else {
          pause(pauseMillis(failure));
        }
      }
    }
  }

  private long pauseMillis(Throwable failure) {
    try {
      return work.failed(failure);
    } catch (RuntimeException | Error again) {
      again.addSuppressed(failure);
      LOG.error("a failure could not be told thread={}", thread.getName(), again);
      return PAUSE_UNTOLD_MILLIS;
    }
  }

  /** Returns whether the thread is being closed, or has been. */
  public boolean isClosing() {
    return closing.getCount() == 0;
  }

  /** Returns whether the thread has ended though it was not closed. */
  public boolean hasFailed() {
    return !thread.isAlive() && !isClosing();
  }

  /**
   * Waits for some time, or until the thread is being closed or interrupted. To be called by the
   * work.
   */
  public void pause(long millis) {
    try {
      boolean isClosing = closing.await(millis, TimeUnit.MILLISECONDS);
      LOG.trace("closing={}", isClosing);
    } catch (InterruptedException interrupted) {
      LOG.debug("a pause was cut short thread={}", thread.getName());
    }
  }

  /**
   * Ends the thread: wakes its work, waits for it, and interrupts it if it takes too long.
   *
   * @param patience how long to wait, and how long again after the interruption
   */
  public void close(Duration patience) {
    closing.countDown();
    work.wakeUp(thread);
    try {
      thread.join(patience.toMillis());
      if (thread.isAlive()) {
        thread.interrupt();
        thread.join(patience.toMillis());
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends the thread, as {@link #close(Duration)} does, with a patience of five seconds. */
  @Override
  public void close() {
    close(Duration.ofSeconds(5));
  }
}
