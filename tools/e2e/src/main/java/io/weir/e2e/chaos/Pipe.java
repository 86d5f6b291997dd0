// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.chaos.Relay.Weather;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection through a {@link Relay}, in both directions. Thread-safe. */
final class Pipe {
  private static final Logger LOG = LoggerFactory.getLogger(Pipe.class);
  private static final int BUFFER_BYTES = 64 * 1024;

  /**
   * In {@link Weather#SLOW}: number of bytes that pass between two pauses of {@link Relay#pause}.
   */
  private static final int SLOW_BYTES = 2 * 1024;

  private final Socket client;
  private final Socket server;
  private final Relay relay;
  private final AtomicInteger open = new AtomicInteger(2);
  private volatile boolean over;

  Pipe(Socket client, Socket server, Relay relay) {
    this.client = client;
    this.server = server;
    this.relay = relay;
  }

  void start() throws IOException {
    client.setTcpNoDelay(true);
    server.setTcpNoDelay(true);
    Relay.daemon("pipe-to-" + server.getPort(), () -> pump(client, server));
    Relay.daemon("pipe-from-" + server.getPort(), () -> pump(server, client));
  }

  private void pump(Socket from, Socket to) {
    byte[] buffer = new byte[BUFFER_BYTES];
    try {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        write(out, buffer, count);
      }
      awaitMoving();
      to.shutdownOutput();
    } catch (IOException broken) {
      LOG.debug("pipe: {}", broken.toString());
      awaitMoving();
      reset();
    }
    if (open.decrementAndGet() == 0) {
      reset();
    }
  }

  private void write(OutputStream out, byte[] bytes, int count) throws IOException {
    int written = 0;
    while (written < count) {
      awaitMoving();
      int now = count - written;
      if (relay.weather() == Weather.SLOW) {
        Relay.pause();
        now = Math.min(now, SLOW_BYTES);
      }
      out.write(bytes, written, now);
      written += now;
    }
  }

  private void awaitMoving() {
    while (relay.weather() == Weather.STILL && !over) {
      Relay.pause();
    }
  }

  /** Resets both connections immediately. Undelivered bytes are lost. */
  void reset() {
    over = true;
    reset(client);
    reset(server);
    relay.forget(this);
  }

  static void reset(Socket socket) {
    try {
      socket.setSoLinger(true, 0); // closing sends a reset
      socket.close();
    } catch (IOException closedAlready) {
      LOG.debug("pipe: {}", closedAlready.toString());
    }
  }
}
