// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.eclipse.jetty.io.ManagedSelector;
import org.eclipse.jetty.io.SocketChannelEndPoint;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A connector whose connections can write responses on the thread that reads them. Thread-safe. */
final class AnsweringConnector extends ServerConnector {
  private final SelectorTasks.Waited waited;
  private final Map<ManagedSelector, SelectorTasks> tasks = new ConcurrentHashMap<>();

  /**
   * Creates a connector.
   *
   * @param protocols HTTP/1.1, over TLS or not
   * @param waited receives the time that responses wait for the selector's thread
   */
  AnsweringConnector(Server server, ConnectionFactory[] protocols, SelectorTasks.Waited waited) {
    super(server, protocols);
    this.waited = waited;
  }

  @Override
  protected SocketChannelEndPoint newEndPoint(
      SocketChannel channel, ManagedSelector selector, SelectionKey key) {
    SocketChannelEndPoint endPoint =
        new AnsweringEndPoint(
            getScheduler(),
            channel,
            selector,
            key,
            tasks.computeIfAbsent(selector, added -> new SelectorTasks(added, waited)));
    endPoint.setIdleTimeout(getIdleTimeout());
    return endPoint;
  }
}
