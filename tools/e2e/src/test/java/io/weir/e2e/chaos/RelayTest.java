// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.e2e.FixedPorts;
import io.weir.e2e.chaos.Relay.Weather;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class RelayTest {
  private static final int PATIENCE_MILLIS = Math.toIntExact(Await.TIMEOUT.toMillis());

  private final FixedPorts ports = new FixedPorts();
  private ServerSocket target;
  private Relay relay;

  @BeforeEach
  void listen() throws Exception {
    target = new ServerSocket(ports.next(), 8, InetAddress.getLoopbackAddress());
    Relay.daemon("echo", this::echo);
    relay = Relay.open(ports.next(), target.getLocalPort());
  }

  @AfterEach
  void close() throws IOException {
    relay.close();
    target.close();
  }

  private void echo() {
    while (!target.isClosed()) {
      try {
        Socket socket = target.accept();
        Relay.daemon("echo", () -> echo(socket));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private static void echo(Socket socket) {
    try (socket) {
      socket.getInputStream().transferTo(socket.getOutputStream());
    } catch (IOException reset) {
      return;
    }
  }

  private Socket connected() throws Exception {
    Socket[] made = new Socket[1];
    Await.until(
        "connected",
        () -> {
          try {
            made[0] = new Socket(InetAddress.getLoopbackAddress(), relay.port());
            return true;
          } catch (IOException notYet) {
            return false;
          }
        });
    made[0].setSoTimeout(PATIENCE_MILLIS);
    return made[0];
  }

  private boolean isRefused() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), relay.port())) {
      return !socket.isConnected();
    } catch (IOException refused) {
      return true;
    }
  }

  @Test
  void fair_passesBytesBothWays() throws Exception {
    try (Socket socket = connected()) {
      socket.getOutputStream().write(7);

      assertEquals(7, socket.getInputStream().read());
    }
  }

  @Test
  void cut_resetsConnections_refusesNewOnes_andPassesAgain() throws Exception {
    try (Socket socket = connected()) {
      socket.getOutputStream().write(7);
      assertEquals(7, socket.getInputStream().read());

      relay.set(Weather.CUT);

      assertThrows(IOException.class, () -> socket.getInputStream().read());
      // The system keeps the port for as long as the relay's thread is still inside accept.
      Await.until("new connections are refused", this::isRefused);
    }
    relay.set(Weather.FAIR);

    fair_passesBytesBothWays();
  }

  @Test
  void still_keepsTheConnection_andDeliversLate() throws Exception {
    try (Socket socket = connected()) {
      socket.getOutputStream().write(7);
      assertEquals(7, socket.getInputStream().read());
      relay.set(Weather.STILL);
      socket.getOutputStream().write(8);
      socket.setSoTimeout(200);
      assertThrows(SocketTimeoutException.class, () -> socket.getInputStream().read());

      relay.set(Weather.FAIR);

      socket.setSoTimeout(PATIENCE_MILLIS);
      assertEquals(8, socket.getInputStream().read());
    }
  }

  @Test
  void slow_deliversAll() throws Exception {
    relay.set(Weather.SLOW);
    byte[] sent = new byte[20_000];
    sent[sent.length - 1] = 9;
    try (Socket socket = connected()) {
      socket.getOutputStream().write(sent);

      byte[] got = socket.getInputStream().readNBytes(sent.length);

      assertEquals(9, got[got.length - 1]);
    }
  }

  @Test
  void targetClosed_refusesConnections() throws Exception {
    target.close();

    Await.until("connections are refused", this::isRefused);
  }
}
