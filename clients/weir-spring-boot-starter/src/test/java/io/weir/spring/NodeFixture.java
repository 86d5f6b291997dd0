// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.testing.Await;
import io.weir.testing.Checkout;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A process that runs {@code weir up}: a node with a Kafka broker and a Redis server. It uses the
 * jars of its own module, because a Spring application does not have them. Not thread-safe.
 */
final class NodeFixture implements AutoCloseable {
  /** API keys of three clients. Each client may call an item {@value #ITEMS} times. */
  static final String ACME = "weir_key-of-acme";

  static final String INITECH = "weir_key-of-initech";

  static final String GLOBEX = "weir_key-of-globex";

  static final int ITEMS = 3;

  private static final String READY = "weir is ready";
  private static final String CHECKS = "check API  ";

  private final HttpClient http = HttpClient.newHttpClient();
  private final Process process;
  private final String address;

  NodeFixture(Path folder) throws Exception {
    Path policies = Files.writeString(folder.resolve("policies.yml"), policies());
    Path target = Checkout.file("cli/target");
    List<String> command = ChildJvm.command("512m", List.of());
    String itsJars =
        target.resolve("cli-0.1.0-SNAPSHOT.jar")
            + File.pathSeparator
            + target.resolve("lib")
            + "/*";
    command.set(command.size() - 1, itsJars);
    command.addAll(List.of("io.weir.cli.WeirCommand", "up"));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(folder.resolve("errors").toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_"));
    builder
        .environment()
        .putAll(
            Map.of(
                "WEIR_DATA",
                folder.resolve("data").toString(),
                "WEIR_POLICIES",
                policies.toString(),
                "WEIR_HTTP_PORT",
                "0",
                "WEIR_REPORTS_PORT",
                "0",
                "WEIR_KAFKA_PORT",
                "0",
                "WEIR_REDIS_PORT",
                "0",
                "WEIR_STOP_DELAY",
                "PT0S",
                "WEIR_DECISION_DEADLINE",
                "PT10S"));
    process = builder.start();
    try {
      address = awaitAddress();
    } catch (Exception failed) {
      close();
      throw new IllegalStateException(Files.readString(folder.resolve("errors")), failed);
    }
  }

  private static String policies() throws NoSuchAlgorithmException {
    return """
    policies:
      - name: items
        match: {endpoint: ["GET /v1/items/{id}", "GET /report/all", "route-of-items"]}
        limit: {algorithm: token-bucket, capacity: %d, refill_tokens: 1, refill_period: PT1H}
      - name: exports
        match: {endpoint: ["GET /v1/exports/{id}", "GET /v1/jobs/{id}"]}
        key: [client, endpoint]
        limit: {algorithm: concurrency, limit: 1, lease: PT1H}
    clients:
      acme: {api_keys: [{id: a, sha256: %s}]}
      initech: {api_keys: [{id: i, sha256: %s}]}
      globex: {api_keys: [{id: g, sha256: %s}]}
    """
        .formatted(ITEMS, sha256(ACME), sha256(INITECH), sha256(GLOBEX));
  }

  private static String sha256(String key) throws NoSuchAlgorithmException {
    return HexFormat.of()
        .formatHex(
            MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8)));
  }

  /** Reads the output of the process until it is ready, and continues to read in the background. */
  private String awaitAddress() throws Exception {
    CompletableFuture<String> ready = new CompletableFuture<>();
    Thread reader = new Thread(() -> read(ready), "weir-output");
    reader.setDaemon(true);
    reader.start();
    return ready.get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void read(CompletableFuture<String> ready) {
    String checks = "";
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(CHECKS)) {
          checks = line.substring(CHECKS.length()).replace("/v1/check", "").strip();
        }
        if (line.startsWith(READY)) {
          ready.complete(checks);
        }
      }
      ready.completeExceptionally(new IllegalStateException("it ended before it was ready"));
    } catch (IOException ended) {
      ready.completeExceptionally(ended);
    }
  }

  /** Returns the property that names the node. */
  String property() {
    return "weir.nodes=" + address;
  }

  /** Sends a request to an application, with or without an API key. */
  HttpResponse<String> get(int port, String path, @Nullable String key) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
    if (key != null) {
      request.header("X-API-Key", key);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Returns the address of a port on which no process listens. */
  static String nobody() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return "weir.nodes=http://127.0.0.1:" + socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
