// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The network between two processes: a port that forwards to another port. A test can disturb the
 * relay. While no process listens on the target port, the relay refuses connections. Thread-safe.
 */
final class Relay implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Relay.class);
  private static final int BACKLOG = 256;
  private static final int CONNECT_TIMEOUT_MILLIS = 1_000;
  private static final long LOOK_MILLIS = 20;

  private final int port;
  private final int targetPort;
  private final Set<Pipe> pipes = ConcurrentHashMap.newKeySet();
  private volatile Weather weather = Weather.FAIR;
  private volatile @Nullable ServerSocket listening;
  private volatile boolean closed;

  /** The state of the network. */
  enum Weather {
    /** Bytes pass. */
    FAIR,
    /** Connections are reset, and new connections are refused. */
    CUT,
    /** Connections stay open, but no bytes pass. Bytes that are sent meanwhile arrive later. */
    STILL,
    /** Bytes pass late and in small pieces. */
    SLOW
  }

  private Relay(int port, int targetPort) {
    this.port = port;
    this.targetPort = targetPort;
  }

  /** Opens a relay, which accepts connections when this method returns. */
  static Relay open(int port, int targetPort) {
    Relay relay = new Relay(port, targetPort);
    daemon("relay-" + port, relay::serve);
    return relay;
  }

  int port() {
    return port;
  }

  Weather weather() {
    return weather;
  }

  void set(Weather next) {
    weather = next;
    if (next == Weather.CUT) {
      stopListening();
      reset();
    }
  }

  /** Resets every connection; undelivered bytes are lost. */
  void reset() {
    pipes.forEach(Pipe::reset);
  }

  private void serve() {
    while (!closed) {
      if (weather == Weather.CUT || !isTargetThere()) {
        pause();
        continue;
      }
      try (ServerSocket server = new ServerSocket()) {
        server.setReuseAddress(true);
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), BACKLOG);
        listening = server;
        while (weather != Weather.CUT && !closed && connect(server.accept())) {
          LOG.trace("relay {} has {} connections", port, pipes.size());
        }
      } catch (IOException ended) {
        LOG.debug("relay {}: {}", port, ended.toString());
      }
    }
  }

  /** Returns whether a process listens on the target port. Tries to connect to the port. */
  private boolean isTargetThere() {
    if (weather == Weather.STILL) {
      return true; // unknown while the network is stalled
    }
    try (Socket probe = new Socket()) {
      probe.connect(target(), CONNECT_TIMEOUT_MILLIS);
      return true;
    } catch (IOException nobody) {
      return false;
    }
  }

  /** Connects a client to the target. Returns false if no process listens on the port. */
  private boolean connect(Socket client) throws IOException {
    while (weather == Weather.STILL && !closed) {
      pause();
    }
    Socket server = new Socket();
    try {
      server.connect(target(), CONNECT_TIMEOUT_MILLIS);
    } catch (IOException nobody) {
      Pipe.reset(client);
      Pipe.reset(server);
      return false;
    }
    Pipe pipe = new Pipe(client, server, this);
    pipes.add(pipe);
    pipe.start();
    if (weather == Weather.CUT) {
      pipe.reset();
    }
    return true;
  }

  private InetSocketAddress target() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), targetPort);
  }

  void forget(Pipe pipe) {
    pipes.remove(pipe);
  }

  private void stopListening() {
    ServerSocket server = listening;
    if (server != null) {
      try {
        server.close();
      } catch (IOException closedAlready) {
        LOG.debug("relay {}: {}", port, closedAlready.toString());
      }
    }
  }

  static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  static void daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    closed = true;
    stopListening();
    reset();
  }
}
