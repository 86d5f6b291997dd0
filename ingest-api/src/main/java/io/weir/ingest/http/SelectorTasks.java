// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.Selector;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.util.NanoTime;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue of tasks for the thread of a selector, which write responses on the connections that the
 * thread reads. In one round the thread runs all tasks that arrived while it was busy. So it is
 * woken once for many tasks. Thread-safe.
 */
final class SelectorTasks {
  private static final Logger LOG = LoggerFactory.getLogger(SelectorTasks.class);

  private final ManagedSelector selector;
  private final Waited waited;
  private final Queue<Task> queue = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean scheduled = new AtomicBoolean();

  /** Receives the waiting times. */
  interface Waited {
    /**
     * Called in each round of the selector that runs tasks.
     *
     * @param queue the queue
     * @param nanos the time that the first task of the round waited
     */
    void waited(Object queue, long nanos);
  }

  private record Task(Runnable work, long addedNanos) {}

  /**
   * Creates a queue without tasks.
   *
   * @param waited receives the waiting times of tasks
   */
  SelectorTasks(ManagedSelector selector, Waited waited) {
    this.selector = selector;
    this.waited = waited;
  }

  /** Adds a task, which must not block. */
  void add(Runnable work) {
    queue.add(new Task(work, NanoTime.now()));
    if (!scheduled.get() && scheduled.compareAndSet(false, true)) {
      selector.submit(this::runAll);
    }
  }

  private void runAll(Selector unused) {
    // a task that is added from now on schedules the next round
    scheduled.set(false);
    Task task = queue.poll();
    if (task != null) {
      waited.waited(this, NanoTime.since(task.addedNanos()));
    }
    for (; task != null; task = queue.poll()) {
      run(task);
    }
  }

  /** Runs a task. Catches every exception, because the selector's thread must continue. */
  private static void run(Task task) {
    try {
      task.work().run();
    } catch (RuntimeException | Error failed) {
      LOG.error("answer_failed", failed);
    }
  }
}
