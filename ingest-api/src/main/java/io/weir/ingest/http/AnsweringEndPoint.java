// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.thread.Scheduler;

/** A connection that knows the thread that reads it. Thread-safe. */
final class AnsweringEndPoint extends SocketChannelEndPoint {
  private final SelectorTasks tasks;

  /**
   * Creates the server's end of a connection.
   *
   * @param tasks the tasks of the selector
   */
  AnsweringEndPoint(
      Scheduler scheduler,
      SocketChannel channel,
      ManagedSelector selector,
      SelectionKey key,
      SelectorTasks tasks) {
    super(channel, selector, key, scheduler);
    this.tasks = tasks;
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
