// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A real Prometheus that scrapes a deployment once a second, with the alerts that Weir has. */
final class Prometheus implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final WeirProcess process;
  private final String url;

  private Prometheus(WeirProcess process, String url) {
    this.process = process;
    this.url = url;
  }

  /**
   * Starts it.
   *
   * @param folder for its configuration and data
   * @param ports whose {@code /metrics} it scrapes
   */
  static Prometheus start(Path folder, int... ports) throws Exception {
    int port = Ports.free();
    List<String> targets = new ArrayList<>();
    for (int each : ports) {
      targets.add("\"127.0.0.1:" + each + "\"");
    }
    Path config =
        Files.writeString(
            folder.resolve("prometheus.yml"),
            """
            global: {scrape_interval: 1s, evaluation_interval: 1s}
            rule_files: [%s]
            scrape_configs:
              - job_name: weir
                static_configs: [{targets: [%s]}]
            """
                .formatted(AlertRules.RULES.toRealPath(), String.join(", ", targets)));
    WeirProcess process =
        WeirProcess.startProgram(
            folder,
            Map.of(),
            List.of(
                "prometheus",
                "--config.file=" + config,
                "--storage.tsdb.path=" + folder.resolve("prometheus"),
                "--web.listen-address=127.0.0.1:" + port));
    Prometheus started = new Prometheus(process, "http://127.0.0.1:" + port);
    Await.until(process::errors, started::isReady);
    return started;
  }

  private boolean isReady() throws InterruptedException {
    try {
      return http.send(
                  HttpRequest.newBuilder(URI.create(url + "/-/ready")).build(),
                  HttpResponse.BodyHandlers.discarding())
              .statusCode()
          == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Returns the answer to a query: its series. */
  JsonNode query(String expression) throws IOException, InterruptedException {
    JsonNode answer =
        get("/api/v1/query?query=" + URLEncoder.encode(expression, StandardCharsets.UTF_8));
    if (!answer.path("status").asText().equals("success")) {
      throw new IOException(expression + ": " + answer);
    }
    return answer.path("data").path("result");
  }

  /** Returns the alerts that are pending or fire. */
  JsonNode alerts() throws IOException, InterruptedException {
    return get("/api/v1/alerts").path("data").path("alerts");
  }

  /** Returns the rules that it has loaded. */
  JsonNode rules() throws IOException, InterruptedException {
    return get("/api/v1/rules").path("data").path("groups");
  }

  private JsonNode get(String path) throws IOException, InterruptedException {
    return JSON.readTree(
        http.send(
                HttpRequest.newBuilder(URI.create(url + path)).build(),
                HttpResponse.BodyHandlers.ofString())
            .body());
  }

  @Override
  public void close() {
    process.close();
  }
}
