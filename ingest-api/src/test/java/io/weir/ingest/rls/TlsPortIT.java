// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.servers.testing.TestCertificates;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Attacks of a hostile TLS 1.2 client on the gRPC port. */
final class TlsPortIT {
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final int FRAME_HEADER_BYTES = 9;

  /** An empty frame of settings (RFC 9113 §6.5). */
  private static final byte[] SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

  @TempDir private Path folder;
  private Process child;
  private int port;
  private SSLContext trusting;

  @BeforeEach
  void start() throws Exception {
    TestCertificates certificates = TestCertificates.in(folder).issue("server");
    child =
        new ProcessBuilder(
                ChildJvm.command(
                    "128m",
                    TlsPortChild.class,
                    certificates.certificate("server").toString(),
                    certificates.key("server").toString()))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    BufferedReader output = child.inputReader(StandardCharsets.UTF_8);
    port = Integer.parseInt(Objects.requireNonNull(output.readLine()));
    trusting = certificates.trusting();
  }

  @AfterEach
  void end() {
    child.destroyForcibly();
  }

  private SSLSocket connect(String... suites) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            trusting.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port);
    var parameters = socket.getSSLParameters();
    parameters.setProtocols(new String[] {"TLSv1.2"});
    parameters.setApplicationProtocols(new String[] {"h2"});
    if (suites.length > 0) {
      parameters.setCipherSuites(suites);
    }
    socket.setSSLParameters(parameters);
    return socket;
  }

  /** Regression: renegotiations were unlimited, and each costs the server a handshake. */
  @Test
  void renegotiation_endsTheConnection() throws Exception {
    try (SSLSocket socket = connect()) {
      socket.getOutputStream().write(PREFACE);
      socket.getOutputStream().write(SETTINGS);
      byte[] header = socket.getInputStream().readNBytes(FRAME_HEADER_BYTES);
      assertEquals(SETTINGS[3], header[3]);

      socket.startHandshake();

      socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
      assertThrows(SSLException.class, () -> socket.getInputStream().readAllBytes());
    }
  }

  @Test
  void suitesWithoutAuthenticatedEncryption_areNotOffered() throws Exception {
    for (String suite :
        List.of(
            "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384",
            "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA")) {
      try (SSLSocket socket = connect(suite)) {
        assertThrows(SSLException.class, socket::startHandshake, suite);
      }
    }
    try (SSLSocket socket = connect("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")) {
      socket.startHandshake();
      assertEquals("h2", socket.getApplicationProtocol());
    }
  }
}
