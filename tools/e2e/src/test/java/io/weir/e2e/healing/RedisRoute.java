// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The address under which nodes know Redis: a TCP forwarder that can be pointed at another server,
 * as a failover does, or at none. Open connections are cut by both. Safe for threads.
 */
final class RedisRoute implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisRoute.class);
  private static final int CONNECT_TIMEOUT_MILLIS = 1_000;
  private static final int BUFFER_BYTES = 64 * 1024;

  private final ServerSocket listener;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private volatile @Nullable InetSocketAddress target;

  private RedisRoute(ServerSocket listener, InetSocketAddress target) {
    this.listener = listener;
    this.target = target;
  }

  /** A route to a server. */
  static RedisRoute to(String redisUri) throws IOException {
    RedisRoute route =
        new RedisRoute(
            new ServerSocket(0, 64, InetAddress.getLoopbackAddress()), address(redisUri));
    daemon("redis-route", route::accept);
    return route;
  }

  String uri() {
    return "redis://127.0.0.1:" + listener.getLocalPort();
  }

  private static InetSocketAddress address(String redisUri) {
    URI uri = URI.create(redisUri);
    return new InetSocketAddress(uri.getHost(), uri.getPort());
  }

  /** Cuts every connection; new ones lead to this server. */
  void pointTo(String redisUri) {
    target = address(redisUri);
    cut();
  }

  /** Cuts every connection; new ones are closed at once, until the route leads somewhere again. */
  void pointNowhere() {
    target = null;
    cut();
  }

  private void cut() {
    open.forEach(RedisRoute::closeQuietly);
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        forward(listener.accept());
      } catch (IOException closed) {
        LOG.debug("route: {}", closed.toString());
      }
    }
  }

  private void forward(Socket caller) {
    InetSocketAddress to = target;
    Socket server = new Socket();
    open.add(caller);
    open.add(server);
    try {
      if (to == null) {
        throw new IOException("the route leads nowhere");
      }
      caller.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      server.connect(to, CONNECT_TIMEOUT_MILLIS);
      if (!to.equals(target)) {
        throw new IOException("the route was moved meanwhile");
      }
    } catch (IOException refused) {
      close(caller, server);
      return;
    }
    daemon("redis-route-out", () -> pump(caller, server));
    daemon("redis-route-in", () -> pump(server, caller));
  }

  private void pump(Socket from, Socket to) {
    byte[] buffer = new byte[BUFFER_BYTES];
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        out.write(buffer, 0, read);
      }
    } catch (IOException cut) {
      LOG.debug("route: {}", cut.toString());
    } finally {
      close(from, to);
    }
  }

  private void close(Socket one, Socket other) {
    closeQuietly(one);
    closeQuietly(other);
    open.remove(one);
    open.remove(other);
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException closedAlready) {
      LOG.debug("route: {}", closedAlready.toString());
    }
  }

  private static void daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cut();
  }
}
