// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Writes records of an unknown kind, as a later version may do, to every topic whose records have
 * kinds. Every process and command that reads the topic must ignore them.
 */
final class UnknownKindsIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * The other topics have no kinds: the aggregator quarantines anything but a batch in the calls
   * topic, ledger rows have versions, and a node does not use policies that it cannot read.
   */
  private static final List<Topic> WITH_KINDS =
      List.of(Topics.STATE, Topics.CORRECTIONS, Topics.SETTLEMENTS);

  /** The exit status of an erasure that leaves rows whose calls may still come. */
  private static final int ROWS_IN_REACH = 3;

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  void unknownKindInEveryTopic_isIgnoredByEveryReader() throws Exception {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(policies, "policies: []\n");
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_PARTITIONS", "1");
    environment.put("WEIR_WINDOW", "PT5S");
    environment.put("WEIR_GRACE", "PT1S");
    for (String port : List.of("HTTP", "REPORTS", "KAFKA", "REDIS")) {
      environment.put("WEIR_" + port + "_PORT", "0");
    }
    try (WeirProcess weir = WeirProcess.start(folder, environment, "up")) {
      weir.awaitLine("weir is ready");
      String check = weir.awaitLine("check API  ");
      String kafka = weir.awaitLine("Kafka      ");
      String reports = weir.awaitLine("reports    ").replaceAll("/$", "");
      Instant begun = Instant.now();
      post(check, "{\"client\":\"acme\",\"endpoint\":\"GET /\",\"cost\":5}", 200);

      publish(kafka);

      String call = "{\"id\":\"one\",\"client\":\"acme\",\"endpoint\":\"GET /\",\"cost\":5}";
      post(check, call, 200);
      post(
          check.replaceAll("/check$", "/calls/one/settle"),
          "{\"client\":\"acme\",\"actual_cost\":2}",
          200);
      Reckoning reckoning = new Reckoning(folder, kafka, "PT5S");
      Instant ended = Instant.now();
      reckoning.awaitClosed(reports, ended);
      reckoning.assertVerified(begun, ended);
      JsonNode usage =
          JSON.readTree(
              get(
                  reports
                      + "/v1/usage?client=acme&window=total&from="
                      + begun.minusSeconds(60)
                      + "&to="
                      + ended));
      assertEquals(7, usage.at("/data/0/quantity").asLong(), usage::toString);
      for (String path : List.of("/v1/clients", "/v1/accuracy", "/v1/clients?order=quantity")) {
        get(reports + path);
      }
      String ingest = check.replaceAll("/v1/check$", "");
      assertMetric(ingest, "weir_corrections_malformed_total", 0);
      assertMetric(reports, "weir_state_records_skipped_total{reason=\"malformed\"}", 0);
      assertMetric(reports, "weir_state_records_skipped_total{reason=\"unknown-kind\"}", 1);
      for (List<String> command :
          List.of(
              List.of("policies", "check", "--against-usage", policies.toString()),
              List.of("quarantine", "list"))) {
        run(kafka, 0, command);
      }
      run(kafka, ROWS_IN_REACH, List.of("clients", "erase", "acme", "--dry-run"));
      String log = weir.output() + weir.errors();
      assertTrue(!log.contains("malformed"), log);
    }
  }

  private static void publish(String kafka) throws Exception {
    byte[] garbage = "?".getBytes(StandardCharsets.UTF_8);
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (Topic topic : WITH_KINDS) {
        byte[] key = "@future/00000".getBytes(StandardCharsets.UTF_8);
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic.name(), 0, key, garbage);
        record.headers().add("weir-type", "future".getBytes(StandardCharsets.UTF_8));
        producer.send(record).get();
      }
    }
  }

  private void run(String kafka, int status, List<String> command) throws Exception {
    try (WeirProcess process =
        WeirProcess.start(folder, Map.of("WEIR_KAFKA", kafka), command.toArray(String[]::new))) {
      assertEquals(status, process.awaitExit(), () -> process.output() + process.errors());
    }
  }

  private void assertMetric(String server, String name, double expected) throws Exception {
    String line =
        get(server + "/metrics")
            .lines()
            .filter(each -> each.startsWith(name + " "))
            .findFirst()
            .orElseThrow(() -> new AssertionError("no " + name));
    assertEquals(expected, Double.parseDouble(line.substring(name.length() + 1)), name);
  }

  private void post(String url, String body, int status) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(url))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(status, answer.statusCode(), answer.body());
  }

  private String get(String url) throws Exception {
    List<HttpResponse<String>> answers = new ArrayList<>();
    Await.until(
        () -> "an answer, not " + answers,
        () -> {
          answers.add(
              http.send(
                  HttpRequest.newBuilder(URI.create(url)).build(),
                  HttpResponse.BodyHandlers.ofString()));
          return answers.get(answers.size() - 1).statusCode() < 500;
        });
    HttpResponse<String> answer = answers.get(answers.size() - 1);
    assertEquals(200, answer.statusCode(), answer.body());
    return answer.body();
  }
}
