// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.NanoTime;
import org.eclipse.jetty.util.thread.Scheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connector that can write the responses of a connection on the thread that reads the connection.
 * Thread-safe.
 */
final class AnsweringConnector extends ServerConnector {
  private static final Logger LOG = LoggerFactory.getLogger(AnsweringConnector.class);

  private final Waited waited;
  private final Map<ManagedSelector, SelectorTasks> tasks = new ConcurrentHashMap<>();

  /** Receives the waiting times of tasks. */
  interface Waited {
    /**
     * Called in each round in which a selector runs tasks.
     *
     * @param queue the queue of the selector's tasks
     * @param nanos the waiting time of the round's first task
     */
    void waited(Object queue, long nanos);
  }

  /**
   * Creates a connector.
   *
   * @param protocols HTTP/1.1, over TLS or not
   * @param waited receives the time that responses wait for the selector's thread
   */
  AnsweringConnector(Server server, ConnectionFactory[] protocols, Waited waited) {
    super(server, protocols);
    this.waited = waited;
  }

  /**
   * A queue of tasks for the thread of a selector. The tasks write responses on the connections
   * that the thread reads. In one round the thread runs all tasks that arrived during the previous
   * work. One wake-up of the thread therefore serves many tasks. Thread-safe.
   */
  private final class SelectorTasks {
    private final ManagedSelector selector;
    private final Queue<Task> queue = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    SelectorTasks(ManagedSelector selector) {
      this.selector = selector;
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
        task.run();
      }
    }
  }

  private record Task(Runnable work, long addedNanos) {
    /** Runs the task. Catches every exception, because the selector's thread must continue. */
    void run() {
      try {
        work.run();
      } catch (RuntimeException | Error failed) {
        LOG.error("answer_failed", failed);
      }
    }
  }

  /** A connection with a reference to the task queue of its reading thread. */
  private static final class AnsweringEndPoint extends SocketChannelEndPoint {
    private final SelectorTasks tasks;

    AnsweringEndPoint(
        SocketChannel channel,
        ManagedSelector selector,
        SelectionKey key,
        Scheduler scheduler,
        SelectorTasks tasks) {
      super(channel, selector, key, scheduler);
      this.tasks = tasks;
    }
  }

  @Override
  protected SocketChannelEndPoint newEndPoint(
      SocketChannel channel, ManagedSelector selector, SelectionKey key) {
    SelectorTasks ofSelector = tasks.computeIfAbsent(selector, SelectorTasks::new);
    SocketChannelEndPoint endPoint =
        new AnsweringEndPoint(channel, selector, key, getScheduler(), ofSelector);
    endPoint.setIdleTimeout(getIdleTimeout());
    return endPoint;
  }

  /**
   * Queues a task for the thread that reads the request's connection. Runs the task immediately if
   * that thread is unknown.
   */
  static void execute(Request request, Runnable task) {
    EndPoint connection = request.getConnectionMetaData().getConnection().getEndPoint();
    // with TLS, the connection is wrapped
    EndPoint outer = connection instanceof EndPoint.Wrapper tls ? tls.unwrap() : connection;
    if (outer instanceof AnsweringEndPoint known) {
      known.tasks.add(task);
    } else {
      task.run();
    }
  }
}
