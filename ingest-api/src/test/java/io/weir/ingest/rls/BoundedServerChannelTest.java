// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Regression: 1,100 connections that sent nothing shut out all others for five minutes. */
final class BoundedServerChannelTest {
  private static final int MAX = 3;

  private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory());
  private final List<Socket> sockets = new ArrayList<>();

  @SuppressWarnings("NullAway.Init") // each test starts its own
  private Channel server;

  /** Sends received bytes back. */
  private static final class Echo extends SimpleChannelInboundHandler<ByteBuf> {
    @Override
    protected void channelRead0(ChannelHandlerContext context, ByteBuf bytes) {
      var unused = context.writeAndFlush(bytes.retain());
    }
  }

  private void start(Duration minIdle) throws InterruptedException {
    server =
        new ServerBootstrap()
            .group(loops)
            .channelFactory(() -> new BoundedServerChannel(MAX, minIdle))
            .childHandler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel connection) {
                    connection.pipeline().addLast(new Echo());
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), 0)
            .sync()
            .channel();
  }

  @AfterEach
  void end() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    var unused = loops.shutdownGracefully();
  }

  private Socket connect() throws IOException {
    Socket socket =
        new Socket(
            InetAddress.getLoopbackAddress(),
            ((InetSocketAddress) server.localAddress()).getPort());
    sockets.add(socket);
    return socket;
  }

  /** Sends a byte. Returns the byte that comes back; -1 if the connection has ended. */
  private static int echo(Socket socket) {
    try {
      socket.getOutputStream().write(7);
      return socket.getInputStream().read();
    } catch (IOException reset) {
      return -1;
    }
  }

  @Test
  void fullPort_newConnectionTakesThePlaceOfTheMostIdle() throws Exception {
    start(Duration.ZERO);
    for (int i = 0; i < MAX; i++) {
      assertEquals(7, echo(connect()));
    }
    assertEquals(7, echo(sockets.get(0)));

    assertEquals(7, echo(connect()));

    assertEquals(-1, sockets.get(1).getInputStream().read());
    assertEquals(7, echo(sockets.get(0)));
    assertEquals(7, echo(sockets.get(2)));
    assertEquals(7, echo(sockets.get(3)));
  }

  @Test
  void fullPort_withoutAnIdleConnection_newOneIsClosed_untilAnotherEnds() throws Exception {
    start(Duration.ofDays(1));
    for (int i = 0; i < MAX; i++) {
      assertEquals(7, echo(connect()));
    }

    assertEquals(-1, echo(connect()));

    sockets.get(0).close();
    Await.until("a place", () -> echo(connect()) == 7);
    assertEquals(7, echo(sockets.get(1)));
  }
}
