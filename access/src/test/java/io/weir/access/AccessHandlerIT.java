// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.testing.TestCertificates;
import io.weir.testing.Await;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.X509Certificate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a server with tokens and TLS over HTTP connections. */
final class AccessHandlerIT {
  @TempDir private static Path authority;
  @TempDir private Path folder;
  private static TestCertificates certificates;
  private @Nullable Server server;
  private @Nullable Access access;
  private @Nullable Tls tls;
  private int port;

  /** A route that returns the permissions of the caller. */
  private static final class Tells extends Handler.Abstract {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
      String path = Request.getPathInContext(request);
      String said =
          path.startsWith("/open") ? "open" : AccessHandler.grantOf(request::getAttribute).name();
      response.write(true, ByteBuffer.wrap(said.getBytes(StandardCharsets.UTF_8)), callback);
      return true;
    }
  }

  private static final class OneRule implements AccessHandler.Rules {
    @Override
    public @Nullable Scope scopeOf(Request request) {
      String path = Request.getPathInContext(request);
      return path.startsWith("/open")
          ? null
          : path.startsWith("/admin") ? Scope.ADMIN : Scope.REPORT;
    }

    @Override
    public boolean looksAtClients(Request request) {
      return Request.getPathInContext(request).startsWith("/usage");
    }
  }

  /** Certificates are created once, because each takes several processes. */
  @BeforeAll
  static void makeCertificates() {
    certificates =
        TestCertificates.in(authority)
            .issue("first")
            .issue("second")
            .issue("other")
            .issue("caller");
  }

  private void start(Map<String, String> variables) throws Exception {
    AccessSettings settings = AccessSettings.of(Settings.of(variables));
    access = Access.open(settings);
    tls = settings.tls() == null ? null : Tls.open(settings.tls());
    server = new Server();
    ServerConnector connector =
        new ServerConnector(server, Tls.protocols(tls, new HttpConfiguration()));
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(new Tells());
    server.insertHandler(new AccessHandler(access, new OneRule()));
    server.start();
    port = connector.getLocalPort();
  }

  @AfterEach
  void stop() throws Exception {
    if (server != null) {
      server.stop();
    }
    if (access != null) {
      access.close();
    }
    if (tls != null) {
      tls.close();
    }
  }

  private Map<String, String> withTokens() throws Exception {
    TokenFile file =
        TokenFile.empty()
            .with(entry("reader", Set.of(Scope.REPORT), Set.of()))
            .with(entry("operator", Set.of(Scope.ADMIN), Set.of()))
            .with(entry("tenant", Set.of(Scope.REPORT), Set.of("acme")));
    Map<String, String> variables = new HashMap<>();
    variables.put(
        "WEIR_TOKENS_FILE",
        Files.writeString(folder.resolve("tokens.yml"), file.text()).toString());
    return variables;
  }

  private static TokenFile.Entry entry(String name, Set<Scope> scopes, Set<String> clients) {
    return new TokenFile.Entry(
        ApiKeyHash.of("weirt_" + name), new Grant(name, scopes, clients), null);
  }

  private HttpResponse<String> ask(HttpClient http, String path, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
            URI.create((tls == null ? "http" : "https") + "://127.0.0.1:" + port + path));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> asked(String path, String token) throws Exception {
    return ask(HttpClient.newHttpClient(), path, "Authorization", "Bearer weirt_" + token);
  }

  /** Regression: a proxy could determine another end of such a request. */
  @Test
  void request_framedInAnotherWayThanByChunksAlone_isRefused() throws Exception {
    start(Map.of());
    Map<String, String> refused =
        Map.of(
            "1.0 chunked", "400",
            "1.1 gzip, chunked", "501",
            "1.1 identity, chunked", "501",
            "1.1 identity\r\nTransfer-Encoding: chunked", "501",
            "1.1 chunked", "200",
            "1.1 Chunked", "200");
    for (Map.Entry<String, String> each : refused.entrySet()) {
      String[] versionAndCoding = each.getKey().split(" ", 2);
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        String request =
            "POST /open HTTP/%s\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: %s\r\n\r\n0\r\n\r\n"
                .formatted(versionAndCoding[0], versionAndCoding[1]);
        socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
        String answer =
            new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertTrue(answer.startsWith("HTTP/1.1 " + each.getValue()), each + ": " + answer);
      }
    }
  }

  @Test
  void suitesWithoutAuthenticatedEncryption_areNotOffered() throws Exception {
    start(
        Map.of(
            "WEIR_TLS_CERTIFICATE", certificates.certificate("first").toString(),
            "WEIR_TLS_KEY", certificates.key("first").toString()));
    SSLContext trusting = certificates.trusting();
    for (String suite :
        List.of(
            "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")) {
      try (SSLSocket socket =
          (SSLSocket)
              trusting.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
        socket.setEnabledProtocols(new String[] {"TLSv1.2"});
        socket.setEnabledCipherSuites(new String[] {suite});
        if (suite.contains("CBC")) {
          assertThrows(SSLException.class, socket::startHandshake);
        } else {
          socket.startHandshake();
        }
      }
    }
  }

  @Test
  void requests_areLetInByTheScopeOfTheirToken() throws Exception {
    start(withTokens());

    assertEquals("open", ask(HttpClient.newHttpClient(), "/open").body());
    HttpResponse<String> missing = ask(HttpClient.newHttpClient(), "/usage");
    assertEquals(401, missing.statusCode());
    assertEquals(
        "Bearer realm=\"weir\"", missing.headers().firstValue("WWW-Authenticate").orElse(""));
    assertTrue(missing.body().contains("\"reason\":\"token-refused\""), missing.body());
    HttpResponse<String> wrong = asked("/usage", "wrong");
    assertEquals(401, wrong.statusCode());
    assertTrue(wrong.headers().firstValue("WWW-Authenticate").orElse("").contains("invalid_token"));

    assertEquals("reader", asked("/usage", "reader").body());
    assertEquals("reader", asked("/all", "reader").body());
    HttpResponse<String> narrow = asked("/admin", "reader");
    assertEquals(403, narrow.statusCode());
    assertTrue(narrow.body().contains("the token does not have the scope admin"), narrow.body());
    assertEquals("operator", asked("/admin", "operator").body());
    assertEquals(403, asked("/usage", "operator").statusCode());

    assertEquals("tenant", asked("/usage", "tenant").body());
    assertEquals(403, asked("/all", "tenant").statusCode());
    assertEquals(403, asked("/admin", "tenant").statusCode());
    // another spelling of a path must not bypass the rules of the path
    for (String path :
        List.of(
            "/usage/../all",
            "/open/../admin",
            "/admin/../open",
            "/admin/%2e%2E/open",
            "/./open",
            "//open",
            "/open;x/admin",
            "/open/%2e./x")) {
      assertEquals(400, asked(path, "tenant").statusCode(), path);
      assertEquals(400, ask(HttpClient.newHttpClient(), path).statusCode(), path);
    }
    assertEquals(403, asked("/%61dmin", "reader").statusCode());
    HttpResponse<String> twice =
        ask(
            HttpClient.newHttpClient(),
            "/usage",
            "Authorization",
            "Bearer weirt_reader",
            "Authorization",
            "Bearer weirt_operator");
    assertEquals(401, twice.statusCode());
  }

  /** Regression: the connection was closed, so the next request on it got no response. */
  @Test
  void refusedRequestsWithABody_keepTheirConnection() throws Exception {
    start(withTokens());
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      for (int i = 0; i < 5; i++) {
        send(socket, "POST /usage HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n");
        // the body arrives after the server could have responded
        assertEquals(0, socket.getInputStream().available());
        send(socket, "abc");
        String head = answer(socket);
        assertTrue(head.startsWith("HTTP/1.1 401"), head);
      }
      send(socket, "POST /usage HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
      String last = answer(socket);
      assertTrue(last.startsWith("HTTP/1.1 401"), last);
      assertTrue(last.contains("Connection: close"), last);
    }
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Reads one response with its body. */
  private static String answer(Socket socket) throws IOException {
    InputStream in = socket.getInputStream();
    StringBuilder head = new StringBuilder();
    while (!head.toString().endsWith("\r\n\r\n")) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("ended after " + head);
      }
      head.append((char) next);
    }
    String length = head.substring(head.indexOf("Content-Length: ") + 16);
    byte[] unused = in.readNBytes(Integer.parseInt(length.substring(0, length.indexOf('\r'))));
    return head.toString();
  }

  @Test
  void withoutTokens_everybodyIsLetIn() throws Exception {
    start(Map.of());
    assertEquals("everybody", ask(HttpClient.newHttpClient(), "/admin").body());
    // requests that a web page causes in a browser of this machine are rejected
    assertEquals(
        403,
        ask(HttpClient.newHttpClient(), "/admin", "Origin", "http://evil.example").statusCode());
    assertEquals(403, ask(HttpClient.newHttpClient(), "/admin", "Origin", "null").statusCode());
    assertEquals(
        200,
        ask(HttpClient.newHttpClient(), "/admin", "Origin", "http://localhost:3000").statusCode());
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      send(socket, "GET /admin HTTP/1.1\r\nHost: evil.example\r\n\r\n");
      String rebound = answer(socket);
      assertTrue(rebound.startsWith("HTTP/1.1 403"), rebound);
    }
  }

  private Map<String, String> withTls(String name) throws Exception {
    Files.copy(
        certificates.certificate(name),
        folder.resolve("server.crt"),
        StandardCopyOption.REPLACE_EXISTING);
    Files.copy(
        certificates.key(name), folder.resolve("server.key"), StandardCopyOption.REPLACE_EXISTING);
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_TLS_CERTIFICATE", folder.resolve("server.crt").toString());
    variables.put("WEIR_TLS_KEY", folder.resolve("server.key").toString());
    return variables;
  }

  /**
   * Returns a client that trusts the authority, and presents the certificate of a name if the name
   * is not null.
   */
  private static SSLContext client(@Nullable String name) {
    return Tls.open(
            new TlsSettings(
                certificates.certificate(name == null ? "other" : name),
                certificates.key(name == null ? "other" : name),
                null,
                "",
                certificates.authority(),
                null,
                false))
        .client();
  }

  private BigInteger serial(SSLContext client) throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            client.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port)) {
      socket.startHandshake();
      return ((X509Certificate) socket.getSession().getPeerCertificates()[0]).getSerialNumber();
    }
  }

  @Test
  void certificateThatIsReplaced_isShownWithoutARestart() throws Exception {
    start(withTls("first"));
    SSLContext trusting = client(null);
    HttpClient http = HttpClient.newBuilder().sslContext(trusting).build();
    assertEquals("everybody", ask(http, "/all").body());
    BigInteger before = serial(trusting);

    Map<String, String> unused = withTls("second");
    Await.until("the other certificate", () -> !serial(trusting).equals(before));
    BigInteger after = serial(trusting);
    assertNotEquals(before, after);
    // an invalid file has no effect
    Files.writeString(folder.resolve("server.crt"), "no certificate");
    Files.copy(
        certificates.certificate("first"),
        folder.resolve("server.crt"),
        StandardCopyOption.REPLACE_EXISTING);
    assertEquals("everybody", ask(http, "/all").body());
    // a client that does not trust the authority must not be able to connect
    assertThrows(IOException.class, () -> ask(HttpClient.newHttpClient(), "/all"));
  }

  @Test
  void keyOfAnotherCertificate_isRefused() throws Exception {
    Map<String, String> variables = withTls("first");
    Files.copy(
        certificates.key("second"),
        folder.resolve("server.key"),
        StandardCopyOption.REPLACE_EXISTING);
    TlsSettings settings = Objects.requireNonNull(AccessSettings.of(Settings.of(variables)).tls());
    Settings.InvalidSettingException refused =
        assertThrows(Settings.InvalidSettingException.class, () -> Tls.open(settings));
    assertTrue(
        String.valueOf(refused.getMessage())
            .contains("the key does not belong to the certificate"));
  }

  @Test
  void clientWithoutRequiredCertificate_isRefused() throws Exception {
    Map<String, String> variables = withTls("first");
    variables.put("WEIR_TLS_CLIENT_CA", certificates.authority().toString());
    start(variables);

    HttpClient known = HttpClient.newBuilder().sslContext(client("caller")).build();
    assertEquals("everybody", ask(known, "/all").body());
    HttpClient unknown = HttpClient.newBuilder().sslContext(certificates.trusting()).build();
    assertThrows(IOException.class, () -> ask(unknown, "/all"));
  }

  @Test
  void keyStore_servesAsWell_andAWrongPasswordIsRefused() throws Exception {
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_TLS_KEYSTORE", authority.resolve("first.p12").toString());
    variables.put("WEIR_TLS_KEYSTORE_PASSWORD", "password");
    start(variables);
    HttpClient http = HttpClient.newBuilder().sslContext(client(null)).build();
    assertEquals("everybody", ask(http, "/all").body());

    variables.put("WEIR_TLS_KEYSTORE_PASSWORD", "wrong");
    TlsSettings wrong = Objects.requireNonNull(AccessSettings.of(Settings.of(variables)).tls());
    Settings.InvalidSettingException refused =
        assertThrows(Settings.InvalidSettingException.class, () -> Tls.open(wrong));
    assertTrue(String.valueOf(refused.getMessage()).startsWith("WEIR_TLS_KEYSTORE: "));
    assertEquals(List.of(authority.resolve("first.p12")), wrong.files());
  }
}
