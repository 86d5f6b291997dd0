// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread that runs one piece of work until the process ends. Work that fails is restarted
 * after a pause, whatever the failure. Only {@link #close} ends the thread. Thread-safe.
 */
public final class SupervisedThread implements AutoCloseable {
  /** The work of a thread. */
  public interface Work {
    /**
     * Works until {@link #isClosing}. If it returns earlier, it is called again immediately.
     *
     * @throws InterruptedException if the thread was interrupted; unless it is being closed, this
     *     counts as a failure
     */
    void run() throws InterruptedException;

    /**
     * Receives the failure of the work. Not called while the thread is being closed.
     *
     * @return the pause before the work is restarted, in milliseconds
     */
    long failed(Throwable failure);

    /**
     * Ends the operation in which the work may be blocked, since the thread is being closed. Called
     * on the closing thread.
     *
     * @param worker the thread that does the work
     */
    void wakeUp(Thread worker);
  }

  private static final Logger LOG = LoggerFactory.getLogger(SupervisedThread.class);

  /** The pause after a failure whose handler has failed, too. */
  private static final long PAUSE_UNHANDLED_MILLIS = 1_000;

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
          LOG.debug(
              "work failed while the thread was being closed thread={}", thread.getName(), failure);
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
      LOG.error("failure_handler_failed thread={}", thread.getName(), again);
      return PAUSE_UNHANDLED_MILLIS;
    }
  }

  /** Returns whether the thread is being closed, or has been. */
  public boolean isClosing() {
    return closing.getCount() == 0;
  }

  /** Returns whether the thread has ended although it was not closed. */
  public boolean hasFailed() {
    return !thread.isAlive() && !isClosing();
  }

  /**
   * Waits for a time, or until the thread is being closed or interrupted. Must be called by the
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
   * @param timeout how long to wait before the interruption, and again after it
   */
  public void close(Duration timeout) {
    closing.countDown();
    work.wakeUp(thread);
    try {
      thread.join(timeout.toMillis());
      if (thread.isAlive()) {
        thread.interrupt();
        thread.join(timeout.toMillis());
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends the thread like {@link #close(Duration)}, with a timeout of five seconds. */
  @Override
  public void close() {
    close(Duration.ofSeconds(5));
  }
}
