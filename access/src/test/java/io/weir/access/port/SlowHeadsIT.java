// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.access.AccessSettings;
import io.weir.access.Tls;
import io.weir.servers.testing.TestCertificates;
import io.weir.testing.Await;
import io.weir.topics.settings.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which connections of a TLS port are ended because a request does not arrive completely. */
final class SlowHeadsIT {
  private static final Duration BETWEEN_BYTES = Duration.ofMillis(700);

  @TempDir private Path folder;
  private final AtomicInteger ended = new AtomicInteger();
  private final Server server = new Server();
  private final SlowHeads heads =
      new SlowHeads(
          server,
          SlowHeads.Bodies.NONE,
          () ->
              "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                  .getBytes(StandardCharsets.US_ASCII),
          ended::incrementAndGet);
  private Tls tls;
  private ServerConnector connector;
  private SSLContext trusting;

  private static final class Done extends Handler.Abstract {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
      Content.Sink.write(response, true, "done", callback);
      return true;
    }
  }

  @BeforeEach
  void start() throws Exception {
    TestCertificates certificates = TestCertificates.in(folder).issue("server");
    Settings settings =
        Settings.of(
            Map.of(
                "WEIR_TLS_CERTIFICATE",
                certificates.certificate("server").toString(),
                "WEIR_TLS_KEY",
                certificates.key("server").toString()));
    tls = Tls.open(Objects.requireNonNull(AccessSettings.of(settings).tls()));
    connector = new ServerConnector(server, Tls.protocols(tls, new HttpConfiguration()));
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(new Done());
    server.start();
    heads.start();
    trusting = certificates.trusting();
  }

  @AfterEach
  void end() throws Exception {
    heads.close();
    server.stop();
    tls.close();
  }

  private Socket connect() throws IOException {
    Socket socket =
        trusting
            .getSocketFactory()
            .createSocket(InetAddress.getLoopbackAddress(), connector.getLocalPort());
    socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /**
   * Regression: Jetty counts no requests on the outer TLS connection, so each connection seemed to
   * wait for a request.
   */
  @Test
  void tlsConnectionInUse_staysLongerThanARequestMayTakeToArrive() throws Exception {
    try (Socket socket = connect()) {
      BufferedReader answers =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      long end = System.nanoTime() + SlowHeads.READ_LIMIT.plusSeconds(3).toNanos();
      while (System.nanoTime() - end < 0) {
        send(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        assertEquals("HTTP/1.1 200 OK", answers.readLine());
        String line = answers.readLine();
        while (line != null && !line.isEmpty()) {
          line = answers.readLine();
        }
        assertEquals('d', answers.read());
        assertEquals(3, answers.skip(3));
        Thread.sleep(BETWEEN_BYTES.toMillis());
      }
    }
    assertEquals(0, ended.get());
  }

  @Test
  void tlsConnection_requestArrivesByteByByte_isAnsweredThroughTls() throws Exception {
    try (Socket socket = connect()) {
      send(socket, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
      Thread sender = new Thread(() -> drip(socket));
      sender.start();
      assertEquals(
          "HTTP/1.1 408 Request Timeout",
          new BufferedReader(
                  new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
              .readLine());
      sender.join();
    }
    assertEquals(1, ended.get());
  }

  @Test
  void tlsHandshake_arrivesByteByByte_isEnded() throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), connector.getLocalPort())) {
      // the header of a TLS handshake record with 16,384 bytes
      socket.getOutputStream().write(new byte[] {22, 3, 1, 64, 0});
      drip(socket);
    }
    Await.until("the end", () -> ended.get() == 1);
  }

  /** Sends single bytes until the connection ends. */
  private void drip(Socket socket) {
    try {
      while (ended.get() == 0) {
        send(socket, "x");
        Thread.sleep(BETWEEN_BYTES.toMillis());
      }
    } catch (IOException closed) {
      return;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
