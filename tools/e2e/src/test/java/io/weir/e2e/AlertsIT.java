// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The metrics that {@code weir up} exposes with its defaults, and the alerts over them. */
final class AlertsIT {
  /** Behind the longest time for which an alert waits. */
  private static final String LATER = "3h";

  private static final Pattern SAMPLE =
      Pattern.compile("(?m)^(weir_[a-z_]+)((?:\\{[^}]*})?) (\\S+)$");

  private static final Pattern HELP = Pattern.compile("(?m)^# HELP (weir_[a-z_]+) *(.*)$");
  private static final Pattern TYPE = Pattern.compile("(?m)^# TYPE (weir_[a-z_]+) ");
  private static final Pattern NAMED = Pattern.compile("\\b(weir_[a-z_]*[a-z])\\b");

  /**
   * Metrics whose names end so say in what they are measured; others say it first in their help.
   */
  private static final Pattern UNIT_IN_NAME =
      Pattern.compile(".*_(seconds|ms|bytes)(_total|_max)?");

  private static final Pattern UNIT_IN_HELP =
      Pattern.compile(
          "(answers|batches|buckets|bytes|files|folders|replies|reports|keys|releases|calls|checks|connections|corrections|decisions"
              + "|events|exceptions|heartbeats|hits|journals|lines|loads|names|nodes|partitions|policies|rebalances"
              + "|records|renewals|requests|restorations|rows|share|slots|spans|tokens|writes|1 (?:if|when)) .*");

  /** What begins like a metric and is of the ledger in SQL, or the claim of a token. */
  private static final Set<String> NOT_METRICS =
      Set.of(
          "weir_ledger",
          "weir_ledger_keep_first",
          "weir_usage",
          "weir_closed_through",
          "weir_clients");

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir private static Path folder;

  private static int checks;
  private static int reports;

  /** The metrics before the first call. */
  private static String atRest;

  /** The metrics after calls were counted and decisions were judged. */
  private static String inUse;

  /** Number of series in the response to each query of the dashboard. */
  private static final Map<String, Integer> series = new TreeMap<>();

  /** State of each rule, by name. */
  private static final Map<String, String> loaded = new TreeMap<>();

  @BeforeAll
  static void useIt() throws Exception {
    checks = Ports.free();
    reports = Ports.free();
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("up").toString());
    environment.put("WEIR_POLICIES", Checkout.file("deploy/policies.yml").toString());
    environment.put("WEIR_KAFKA_PORT", "0");
    environment.put("WEIR_REDIS_PORT", "0");
    environment.put("WEIR_HTTP_PORT", Integer.toString(checks));
    environment.put("WEIR_REPORTS_PORT", Integer.toString(reports));
    environment.put("WEIR_GRPC_PORT", Integer.toString(Ports.free()));
    try (WeirProcess up = WeirProcess.start(folder, environment, "up")) {
      up.awaitLine("weir is ready");
      atRest =
          scrapeUntil(
              "weir_cache_warmth 1\\.0",
              "weir_streams_running\\S+ 1\\.0",
              "weir_watermark_lag_ms\\{partition=\"3\"} [0-9]",
              "weir_corrections_lag_records 0\\.0");
      Await.until("a call that the cache decides", AlertsIT::isDecidedByTheCache);
      inUse =
          scrapeUntil(
              "weir_decisions_judged_total\\S+ [1-9]",
              "weir_lines_total\\{outcome=\"counted\",partition=\"\\d\"} [1-9]");
      if (Promtool.isInstalled()) {
        askPrometheus();
      }
    }
  }

  /** Asks a Prometheus everything that the dashboard asks, until it has seen two scrapes. */
  private static void askPrometheus() throws Exception {
    try (Prometheus prometheus = Prometheus.start(folder, checks, reports)) {
      Await.until(
          "rates over two scrapes",
          () ->
              prometheus.query("count(rate(weir_checks_total[1m]))").size() > 0
                  && prometheus.query("count(rate(weir_lines_total[1m]))").size() > 0);
      for (String query : dashboardQueries()) {
        series.put(query, prometheus.query(query.replace("$__rate_interval", "1m")).size());
      }
      for (JsonNode group : prometheus.rules()) {
        for (JsonNode rule : group.path("rules")) {
          loaded.put(rule.path("name").asText(), rule.path("health").asText());
        }
      }
    }
  }

  private static List<String> dashboardQueries() throws Exception {
    List<String> queries = new ArrayList<>();
    JsonNode dashboard =
        new ObjectMapper().readTree(Markdown.ROOT.resolve("docs").resolve("grafana.json").toFile());
    for (JsonNode panel : dashboard.path("panels")) {
      for (JsonNode target : panel.path("targets")) {
        queries.add(target.path("expr").asText());
      }
    }
    return queries;
  }

  private static boolean isDecidedByTheCache() throws Exception {
    HttpResponse<String> answer =
        HTTP.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + checks + "/v1/check"))
                .POST(
                    HttpRequest.BodyPublishers.ofString(
                        "{\"client\":\"acme\",\"endpoint\":\"GET /v1/items\"}"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    return answer.statusCode() == 200 && answer.body().contains("\"decided_by\":\"cache\"");
  }

  /** Returns the metrics of both ports as soon as they contain all of these texts. */
  private static String scrapeUntil(String... wanted) throws Exception {
    String[] told = {""};
    Await.until(
        () -> List.of(wanted) + " in " + told[0],
        () -> {
          told[0] = scrape(checks) + scrape(reports);
          for (String one : wanted) {
            if (!Pattern.compile("(?m)^" + one).matcher(told[0]).find()) {
              return false;
            }
          }
          return true;
        });
    return told[0];
  }

  private static String scrape(int port) throws Exception {
    HttpResponse<String> answer =
        HTTP.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode());
    return answer.body();
  }

  @Test
  void everyMetric_hasAHelp_andAUnit() {
    Map<String, String> helps = new HashMap<>();
    Matcher help = HELP.matcher(inUse);
    while (help.find()) {
      helps.put(help.group(1), help.group(2).strip());
    }
    Set<String> told = Markdown.matches(TYPE, inUse);
    assertFalse(told.isEmpty());
    Map<String, String> without = new TreeMap<>();
    for (String metric : told) {
      String text = helps.getOrDefault(metric, "");
      boolean hasUnit =
          UNIT_IN_NAME.matcher(metric).matches() || UNIT_IN_HELP.matcher(text).matches();
      if (text.isEmpty() || !hasUnit) {
        without.put(metric, text);
      }
    }
    assertTrue(without.isEmpty(), () -> "no help, or none that says what is counted: " + without);
  }

  @Test
  void everyQueryOfTheDashboard_hasAnAnswer() throws Exception {
    assumeTrue(Promtool.isInstalled(), "Prometheus (Debian: apt install prometheus)");
    assertEquals(Set.copyOf(dashboardQueries()), series.keySet());
    assertTrue(series.size() > 30, series::toString);
    // no call of this test has drifted
    series.forEach(
        (query, count) ->
            assertTrue(count > 0 || query.contains("weir_drift_tokens"), () -> query));
  }

  @Test
  void everyAlert_isLoadedAndEvaluatedByPrometheus() throws Exception {
    assumeTrue(Promtool.isInstalled(), "Prometheus (Debian: apt install prometheus)");
    Set<String> alerts = new TreeSet<>();
    for (JsonNode rule : AlertRules.all()) {
      alerts.add(rule.path("alert").asText());
    }
    assertEquals(alerts, loaded.keySet());
    loaded.values().forEach(health -> assertFalse(health.equals("err"), loaded::toString));
  }

  @Test
  void everyMetricOfAnAlert_isExposed() throws Exception {
    Set<String> wanted = new TreeSet<>();
    for (JsonNode rule : AlertRules.all()) {
      wanted.addAll(Markdown.matches(NAMED, rule.path("expr").asText()));
    }
    assertFalse(wanted.isEmpty());
    wanted.removeAll(Markdown.matches(SAMPLE, inUse));
    assertTrue(wanted.isEmpty(), () -> "not told: " + wanted);
  }

  @Test
  void everyMetricOfTheDocs_isExposed_andEveryExposedOneIsExplained() throws Exception {
    Set<String> told = Markdown.matches(SAMPLE, inUse);
    told.addAll(Markdown.matches(TYPE, inUse));
    for (Path page : Markdown.pages()) {
      if (page.endsWith("CHANGELOG.md")) {
        continue; // names what was
      }
      String text = Files.readString(page);
      // the configuration of gateways has variables of its own
      boolean isOfGateways = page.endsWith("gateways.md");
      Set<String> named =
          Markdown.matches(
              NAMED,
              isOfGateways ? Markdown.withoutBlocks(text).replaceAll("\\$weir_\\w+", "") : text);
      named.removeAll(told);
      named.removeAll(NOT_METRICS);
      assertTrue(named.isEmpty(), () -> page + " names metrics that are not told: " + named);
    }
    Set<String> explained = Markdown.matches(NAMED, Markdown.textOf(Markdown.OPERATE));
    for (String metric : Markdown.matches(TYPE, inUse)) {
      assertTrue(
          explained.contains(metric.replaceFirst("_max$", "")) || explained.contains(metric),
          () -> metric + " is not explained in docs/operate");
    }
  }

  @Test
  void upWithItsDefaults_atRest_firesNoAlert() throws Exception {
    StringBuilder test = new StringBuilder(500);
    test.append("rule_files: ['")
        .append(AlertRules.RULES.toAbsolutePath().normalize())
        .append("']\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n");
    Matcher sample = SAMPLE.matcher(atRest);
    while (sample.find()) {
      if (sample.group(3).equals("NaN") || sample.group(2).contains("quantile=")) {
        continue; // not known yet, or how fast this machine was while it started
      }
      test.append("      - {series: '").append(sample.group(1)).append(sample.group(2));
      test.append("', values: '").append(sample.group(3)).append("x240'}\n");
    }
    test.append("    alert_rule_test:\n");
    for (JsonNode rule : AlertRules.all()) {
      test.append("      - {alertname: ").append(rule.path("alert").asText());
      test.append(", eval_time: ").append(LATER).append("}\n");
    }
    Path file = Files.writeString(folder.resolve("at-rest.yml"), test);

    Promtool.run(folder, "test", "rules", file.toString());
  }
}
