// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The alerts that the documentation offers can fire: their metrics are told, and explained. */
final class AlertsIT {
  private static final Path DOCS = Path.of("..", "docs");
  private static final Pattern METRIC = Pattern.compile("\\bweir_[a-z_]+");

  @TempDir private Path folder;

  @Test
  void everyAlert_isExplained_andItsRunbookExists() throws Exception {
    String operating = Files.readString(DOCS.resolve("operating.md"));
    Set<String> anchors = new TreeSet<>();
    for (String line : operating.lines().filter(line -> line.startsWith("### ")).toList()) {
      String heading = line.substring(4).toLowerCase(Locale.ROOT);
      anchors.add(heading.replaceAll("[^a-z0-9 _-]", "").replace(' ', '-'));
    }

    List<JsonNode> rules = rules();
    assertFalse(rules.isEmpty());
    for (JsonNode rule : rules) {
      String name = rule.path("alert").asText();
      String runbook = rule.path("annotations").path("runbook").asText();
      assertTrue(operating.contains("| `" + name + "` |"), name);
      assertTrue(anchors.contains(runbook), name + ": " + runbook + " is none of " + anchors);
    }
  }

  @Test
  void everyMetricOfAnAlert_isTold() throws Exception {
    Set<String> wanted = new TreeSet<>();
    for (JsonNode rule : rules()) {
      Matcher metric = METRIC.matcher(rule.path("expr").asText());
      while (metric.find()) {
        wanted.add(metric.group());
      }
    }
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("up").toString());
    environment.put("WEIR_POLICIES", policies().toString());
    for (String port : List.of("KAFKA", "REDIS")) {
      environment.put("WEIR_" + port + "_PORT", "0");
    }
    int http = Ports.free();
    int reports = Ports.free();
    environment.put("WEIR_HTTP_PORT", Integer.toString(http));
    environment.put("WEIR_REPORTS_PORT", Integer.toString(reports));
    try (WeirProcess up = WeirProcess.start(folder, environment, "up")) {
      up.awaitLine("weir is ready");
      Set<String> told = new TreeSet<>();
      Await.until(
          "all of " + wanted + " to be told",
          () -> {
            told.addAll(metrics(http));
            told.addAll(metrics(reports));
            return told.containsAll(wanted);
          });
    }
    assertFalse(wanted.isEmpty());
  }

  private static List<JsonNode> rules() throws Exception {
    JsonNode groups = new YAMLMapper().readTree(DOCS.resolve("alerts.yml").toFile()).path("groups");
    List<JsonNode> rules = new ArrayList<>();
    groups.forEach(group -> group.path("rules").forEach(rules::add));
    return rules;
  }

  private Path policies() throws Exception {
    return Files.writeString(folder.resolve("policies.yml"), "policies: []\n");
  }

  private static Set<String> metrics(int port) throws Exception {
    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build(),
                HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode());
    Set<String> names = new TreeSet<>();
    Matcher metric = Pattern.compile("(?m)^weir_[a-z_]+").matcher(answer.body());
    while (metric.find()) {
      names.add(metric.group());
    }
    return names;
  }
}
