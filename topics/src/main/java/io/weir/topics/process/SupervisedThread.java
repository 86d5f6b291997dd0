// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A daemon thread that runs its work until {@link #close} ends it. If the work fails for any
 * reason, the thread restarts the work after a pause. Thread-safe.
 */
public final class SupervisedThread implements AutoCloseable {
  /** The work of a thread. */
  public interface Work {
    /**
     * Does the work until {@link #isClosing} returns true. If the method returns earlier, the
     * thread calls the method again immediately.
     *
     * @throws InterruptedException if the thread was interrupted. An interruption counts as a
     *     failure unless the thread is being closed
     */
    void run() throws InterruptedException;

    /**
     * Handles a failure of the work. The thread does not call this method while it is being closed.
     *
     * @return the pause before the work is restarted, in milliseconds
     */
    long failed(Throwable failure);

    /**
     * Ends an operation in which the work may be blocked, so that the thread can end. The thread
     * that calls {@link SupervisedThread#close} also calls this method.
     *
     * @param worker the thread that does the work
     */
    void wakeUp(Thread worker);
  }

  private static final Logger LOG = LoggerFactory.getLogger(SupervisedThread.class);

  /** Pause after a failure if the failure handler has also failed. */
  private static final long PAUSE_UNHANDLED_MILLIS = 1_000;

  private final Work work;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;

  /**
   * Creates a thread; {@link #start} starts it.
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
              "the work failed while the thread was being closed thread={}",
              thread.getName(),
              failure);
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

  /** Returns whether the thread is being closed or is closed. */
  public boolean isClosing() {
    return closing.getCount() == 0;
  }

  /** Returns whether the thread has ended before it was closed. */
  public boolean hasFailed() {
    return !thread.isAlive() && !isClosing();
  }

  /**
   * Waits for a time, or until the thread is closed or interrupted. Only the work may call this
   * method.
   */
  public void pause(long millis) {
    try {
      boolean isClosing = closing.await(millis, TimeUnit.MILLISECONDS);
      LOG.trace("closing={}", isClosing);
    } catch (InterruptedException interrupted) {
      LOG.debug("a pause ended early thread={}", thread.getName());
    }
  }

  /**
   * Ends the thread. The method wakes up the work, waits until the thread ends, and interrupts the
   * thread after the timeout.
   *
   * @param timeout how long to wait before the interruption, and again after the interruption
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

  /** Ends the thread with a timeout of five seconds; see {@link #close(Duration)}. */
  @Override
  public void close() {
    close(Duration.ofSeconds(5));
  }
}
