// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.netty.channel.Channel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A listening socket that has a number of open connections at most: one that is accepted beyond
 * them is closed at once, before anything is read from it. Used by the thread of its event loop;
 * connections may end in any thread.
 */
final class BoundedServerChannel extends NioServerSocketChannel {
  private final int maxConnections;
  private final AtomicInteger open = new AtomicInteger();

  BoundedServerChannel(int maxConnections) {
    this.maxConnections = maxConnections;
  }

  @Override
  protected int doReadMessages(List<Object> accepted) throws Exception {
    int before = accepted.size();
    int count = super.doReadMessages(accepted);
    if (accepted.size() == before) {
      return count;
    }
    Channel connection = (Channel) accepted.get(before);
    if (open.incrementAndGet() <= maxConnections) {
      var unused = connection.closeFuture().addListener(closed -> open.decrementAndGet());
      return count;
    }
    open.decrementAndGet();
    accepted.remove(before);
    connection.unsafe().closeForcibly();
    return 0;
  }
}
