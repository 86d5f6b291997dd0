// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A listening socket with a maximum number of open connections. At the maximum, a new connection
 * replaces the connection that has sent nothing for the longest time, if this time exceeds a
 * minimum. If the time is too short, the socket closes the new connection without reading from it.
 * Only the event loop calls this object, but any thread may read and close connections.
 */
final class BoundedServerChannel extends NioServerSocketChannel {
  private final int maxConnections;
  private final long minIdleNanos;
  private final Map<Channel, LastRead> open = new ConcurrentHashMap<>();

  BoundedServerChannel(int maxConnections, Duration minIdle) {
    this.maxConnections = maxConnections;
    this.minIdleNanos = minIdle.toNanos();
  }

  /** Records the time at which a connection last sent data. */
  private static final class LastRead extends ChannelInboundHandlerAdapter {
    private volatile long nanos = System.nanoTime();

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      nanos = System.nanoTime();
      context.fireChannelRead(message);
    }
  }

  @Override
  protected int doReadMessages(List<Object> accepted) throws Exception {
    int before = accepted.size();
    int count = super.doReadMessages(accepted);
    if (accepted.size() == before) {
      return count;
    }
    Channel connection = (Channel) accepted.get(before);
    if (open.size() >= maxConnections && !endMostIdle()) {
      accepted.remove(before);
      connection.unsafe().closeForcibly();
      return 0;
    }
    LastRead lastRead = new LastRead();
    open.put(connection, lastRead);
    connection.pipeline().addFirst(lastRead);
    var unused = connection.closeFuture().addListener(closed -> open.remove(connection));
    return count;
  }

  private boolean endMostIdle() {
    long now = System.nanoTime();
    long longest = minIdleNanos;
    @Nullable Channel mostIdle = null;
    for (Map.Entry<Channel, LastRead> each : open.entrySet()) {
      long idle = now - each.getValue().nanos;
      if (idle >= longest) {
        longest = idle;
        mostIdle = each.getKey();
      }
    }
    if (mostIdle == null) {
      return false;
    }
    open.remove(mostIdle);
    var unused = mostIdle.close();
    return true;
  }
}
