// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.Recorded;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

/**
 * Compares the responses to callers with the audit log, the audit log with the ledger, and the
 * ledger with the reports of every aggregator. Shares no code with Weir.
 */
final class Audit {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration CLOSED_TIMEOUT = Await.TIMEOUT;
  private static final Duration VERIFY_MARGIN = Duration.ofMinutes(1);

  private final Deployment deployment;
  private final HttpClient http = HttpClient.newHttpClient();

  Audit(Deployment deployment) {
    this.deployment = deployment;
  }

  /**
   * Waits until all windows of the calls are closed, and then makes the comparisons.
   *
   * @param rounds rounds whose callers have stopped
   */
  Findings run(List<Truth> rounds, Instant begun) throws Exception {
    Instant ended = Instant.now();
    for (String url : deployment.reportsUrls()) {
      awaitClosed(url, ended);
    }
    Optional<Admissions> admissions = deployment.limit().map(Admissions::new);
    Map<Truth.Verdict, Long> recorded = recorded(admissions);
    Map<String, Sums> counted = new HashMap<>();
    recorded.forEach(
        (call, cost) ->
            counted.computeIfAbsent(call.client(), client -> new Sums()).add(call, cost));
    Map<String, Sums> ledger = ledger();
    List<Findings.OfRound> found = new ArrayList<>();
    for (Truth truth : rounds) {
      found.add(compare(truth, recorded.keySet(), counted, ledger, admissions));
    }
    Verified verified = deployment.verify(begun.minus(VERIFY_MARGIN), ended);
    Set<String> doubtful = new HashSet<>();
    rounds.forEach(truth -> doubtful.addAll(truth.doubtful()));
    return new Findings(found, quarantined(), verified.isRight(doubtful));
  }

  private Findings.OfRound compare(
      Truth truth,
      Set<Truth.Verdict> recorded,
      Map<String, Sums> counted,
      Map<String, Sums> ledger,
      Optional<Admissions> admissions)
      throws Exception {
    List<String> details = new ArrayList<>();
    Set<Truth.Verdict> answered = truth.verdicts();
    List<String> missing =
        answered.stream()
            .filter(verdict -> !recorded.contains(verdict))
            .map(verdict -> "answered, but not recorded: " + verdict)
            .toList();
    long gone = Math.min(missing.size(), truth.mayBeGoneCount());
    long lost = missing.size() - gone;
    if (lost > 0) {
      details.addAll(missing);
    }
    Set<String> clients = truth.clients();
    long unknown =
        recorded.stream()
            .filter(call -> clients.contains(call.client()) && !answered.contains(call))
            .count();
    long doubled = Math.max(0, unknown - truth.withoutVerdictCount());
    if (doubled > 0) {
      details.add(doubled + " more calls are recorded than were sent");
    }
    details.addAll(truth.wrong());
    long misreported = truth.wrong().size();
    for (String client : new TreeSet<>(clients)) {
      Sums right = counted.getOrDefault(client, new Sums());
      Sums row = ledger.getOrDefault(client, new Sums());
      if (!right.equals(row)) {
        details.add(client + ": recorded " + right + ", in the ledger " + row);
        lost += Math.max(0, right.calls() - row.calls());
        doubled += Math.max(0, row.calls() - right.calls());
        misreported += right.calls() == row.calls() ? 1 : 0;
      }
      for (String url : deployment.reportsUrls()) {
        Sums reported = reported(url, client);
        if (!reported.equals(right)) {
          misreported++;
          details.add(client + ": recorded " + right + ", " + url + " reports " + reported);
        }
      }
    }
    List<String> beyond = new ArrayList<>();
    admissions.ifPresent(
        of -> clients.forEach(client -> beyond.addAll(of.beyond(client, truth.cacheLosses()))));
    details.addAll(beyond);
    return new Findings.OfRound(
        truth.answered(),
        truth.failedCount(),
        truth.errors(),
        lost,
        gone,
        doubled,
        truth.reports(),
        misreported,
        beyond.size(),
        details,
        truth.notes());
  }

  /**
   * Returns the calls of the audit log with their costs, without repeated lines and repeated ids.
   */
  private Map<Truth.Verdict, Long> recorded(Optional<Admissions> admissions) throws IOException {
    Map<Truth.Verdict, Long> recorded = new HashMap<>();
    Recorded.each(
        deployment.kafka(),
        "weir.calls.v1",
        row -> {
          if (row.callBatch() != null) {
            admissions.ifPresent(of -> of.add(row));
            row.lines().forEach(line -> recorded.put(verdict(line), line.path("cost").asLong()));
          }
        });
    return recorded;
  }

  /**
   * Returns the verdict of a line. All verdicts of a client share one string, to save memory: there
   * are few clients and many calls.
   */
  private static Truth.Verdict verdict(JsonNode line) {
    return new Truth.Verdict(
        line.path("client").asText().intern(),
        line.path("id").asText(),
        line.path("allowed").asBoolean());
  }

  private Map<String, Sums> ledger() throws IOException {
    Map<String, Sums> ledger = new HashMap<>();
    Recorded.each(
        deployment.kafka(),
        "weir.usage.ledger.v1",
        row ->
            row.lines().stream()
                .filter(line -> line.has("client"))
                .forEach(
                    line ->
                        ledger
                            .computeIfAbsent(line.path("client").asText(), client -> new Sums())
                            .add(
                                line.path("quantity").asLong(),
                                line.path("calls_allowed").asLong(),
                                line.path("calls_denied").asLong())));
    return ledger;
  }

  private Sums reported(String url, String client) throws Exception {
    String question =
        url
            + "/v1/usage?window=total&from=2026-01-01&client="
            + URLEncoder.encode(client, StandardCharsets.UTF_8);
    List<HttpResponse<String>> answers = new ArrayList<>();
    // a busy aggregator may reject a request for a while
    Expect.that(
        question + " is answered",
        () -> {
          answers.add(ask(question));
          return answers.get(answers.size() - 1).statusCode() == 200;
        });
    JsonNode report = JSON.readTree(answers.get(answers.size() - 1).body());
    Sums sums = new Sums();
    for (JsonNode row : report.path("data")) {
      sums.add(
          row.path("quantity").asLong(), row.path("allowed").asLong(), row.path("denied").asLong());
    }
    return sums;
  }

  private long quarantined() {
    return TopicContents.read(deployment.kafka(), "weir.quarantine.v1").size();
  }

  private void awaitClosed(String url, Instant time) throws InterruptedException {
    long deadline = System.nanoTime() + CLOSED_TIMEOUT.toNanos();
    String last = "";
    while (System.nanoTime() - deadline < 0) {
      try {
        last = get(url + "/v1/completeness");
        if (isClosed(last, time)) {
          return;
        }
      } catch (IOException notYet) {
        last = notYet.toString();
      }
      TimeUnit.MILLISECONDS.sleep(100);
    }
    throw new IllegalStateException(url + " has not closed " + time + ": " + last);
  }

  private boolean isClosed(String completeness, Instant time) throws IOException {
    JsonNode partitions = JSON.readTree(completeness).path("partitions");
    for (JsonNode partition : partitions) {
      JsonNode through = partition.path("closed_through");
      if (!through.isTextual() || !Instant.parse(through.textValue()).isAfter(time)) {
        return false;
      }
    }
    return partitions.size() == deployment.partitions();
  }

  private HttpResponse<String> ask(String url) throws IOException, InterruptedException {
    return http.send(
        Requests.to(url, deployment.token()).timeout(Await.TIMEOUT).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private String get(String url) throws IOException, InterruptedException {
    HttpResponse<String> answer = ask(url);
    if (answer.statusCode() != 200) {
      throw new IOException(url + " answers " + answer.statusCode() + ": " + answer.body());
    }
    return answer.body();
  }
}
