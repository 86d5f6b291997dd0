// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A relay to a port of this machine. The relay delays each byte by half a round trip, in both
 * directions, and does not limit the bandwidth.
 */
final class DelayedRoute implements AutoCloseable {
  private static final int BUFFER_BYTES = 64 * 1024;

  private final ServerSocket listener;
  private final int target;
  private final long delayNanos;
  private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();

  /** Bytes, and the time at which the relay delivers them. An empty chunk ends the stream. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Chunk(byte[] bytes, long dueNanos) {}

  /** Returns the port of the relay. */
  int port() {
    return listener.getLocalPort();
  }

  private DelayedRoute(ServerSocket listener, int target, Duration roundTrip) {
    this.listener = listener;
    this.target = target;
    this.delayNanos = roundTrip.toNanos() / 2;
  }

  static DelayedRoute open(int port, int target, Duration roundTrip) throws IOException {
    ServerSocket listener = new ServerSocket(port, 64, InetAddress.getLoopbackAddress());
    DelayedRoute route = new DelayedRoute(listener, target, roundTrip);
    daemon(route::accept);
    return route;
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        sockets.add(client);
        sockets.add(server);
        carry(client, server);
        carry(server, client);
      }
    } catch (IOException closed) {
      close();
    }
  }

  private void carry(Socket from, Socket to) {
    LinkedBlockingQueue<Chunk> underWay = new LinkedBlockingQueue<>();
    daemon(() -> read(from, underWay));
    daemon(() -> write(to, underWay));
  }

  private void read(Socket from, Queue<Chunk> underWay) {
    byte[] buffer = new byte[BUFFER_BYTES];
    try {
      InputStream in = from.getInputStream();
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        underWay.add(new Chunk(Arrays.copyOf(buffer, count), System.nanoTime() + delayNanos));
      }
    } catch (IOException broken) {
      // ends like a closed connection
    }
    underWay.add(new Chunk(new byte[0], System.nanoTime() + delayNanos));
  }

  private void write(Socket to, LinkedBlockingQueue<Chunk> underWay) {
    try (to) {
      OutputStream out = to.getOutputStream();
      for (Chunk chunk = underWay.take(); chunk.bytes.length > 0; chunk = underWay.take()) {
        TimeUnit.NANOSECONDS.sleep(chunk.dueNanos - System.nanoTime());
        out.write(chunk.bytes);
      }
    } catch (IOException broken) {
      // the reader of the other direction also ends
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static void daemon(Runnable work) {
    Thread thread = new Thread(work, "delayed-route");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    try {
      listener.close();
      for (Socket socket : sockets) {
        socket.close();
      }
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    }
  }
}
