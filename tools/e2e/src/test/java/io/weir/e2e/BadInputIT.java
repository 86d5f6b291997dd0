// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is malformed on the calls topic is kept with its reason; the stream goes on, all counts
 * agree.
 */
final class BadInputIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @Test
  void callsTopic_badRecords_areQuarantined_andGoodCallsAreCounted() throws Exception {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(policies, "policies: []\n");
    Map<String, String> environment =
        Map.of(
            "WEIR_DATA", folder.resolve("data").toString(),
            "WEIR_POLICIES", policies.toString(),
            "WEIR_HTTP_PORT", "0",
            "WEIR_REPORTS_PORT", "0",
            "WEIR_KAFKA_PORT", "0",
            "WEIR_REDIS_PORT", "0",
            "WEIR_PARTITIONS", "1",
            "WEIR_WINDOW", "PT5S",
            "WEIR_GRACE", "PT1S");
    try (WeirProcess weir = WeirProcess.start(folder, environment, "up")) {
      weir.awaitLine("weir is ready");
      String check = weir.awaitLine("check API  ");
      String kafka = weir.awaitLine("Kafka      ");
      Instant begun = Instant.now();

      call(check, "before");
      Map<String, ProducerRecord<byte[], byte[]>> bad = badRecords();
      send(kafka, bad);
      call(check, "after");
      String position = call(check, "last");

      Map<String, String> reasons = awaitQuarantine(kafka, bad.size());
      send(kafka, Map.of("final-heartbeat", finalHeartbeat(bad.size())));
      bad.keySet().forEach(name -> assertTrue(reasons.containsKey(name), name + " in " + reasons));
      reasons.forEach((name, reason) -> assertTrue(reason.length() > 5, name + ": " + reason));

      String reports = weir.awaitLine("reports    ");
      JsonNode usage =
          JSON.readTree(
              get(
                  reports + "v1/usage?client=acme&window=total&from=2026-01-01&status=any",
                  position));
      assertEquals(3, usage.path("data").path(0).path("allowed").asLong(), usage.toString());

      Reckoning reckoning = new Reckoning(folder, kafka, "PT5S");
      Instant ended = Instant.now();
      reckoning.awaitClosed(reports.replaceAll("/$", ""), ended);
      reckoning.assertVerified(begun, ended);
    }
  }

  private static Map<String, ProducerRecord<byte[], byte[]>> badRecords() {
    long now = System.currentTimeMillis();
    Map<String, ProducerRecord<byte[], byte[]>> records = new LinkedHashMap<>();
    byte[] good = batchOf(now);
    records.put("no-headers", record(good, Map.of()));
    records.put("wrong-count", record(good, batch(1, 2)));
    records.put("huge-count", record(good, batch(2, 2_000_000_000)));
    records.put("negative-batch", record(good, batch(-5, 1)));
    records.put("not-a-batch", record(bytes("{\"id\":"), batch(1, 1)));
    byte zero = 0;
    records.put(
        "no-client", record(AlteredBatch.withField(good, AlteredBatch.CLIENT, zero), batch(1, 1)));
    records.put(
        "cost-zero", record(AlteredBatch.withField(good, AlteredBatch.COST, zero), batch(2, 1)));
    records.put("from-the-future", record(batchOf(now + 3_600_000), batch(3, 1)));
    records.put("too-old", record(batchOf(now - 36L * 86_400_000), batch(4, 1)));
    records.put(
        "no-endpoint",
        record(AlteredBatch.withField(good, AlteredBatch.ENDPOINT, zero), batch(5, 1)));
    records.forEach((name, record) -> record.headers().add("test", bytes(name)));
    return records;
  }

  /** Returns the final heartbeat of the invented node, so that windows do not wait for it. */
  private static ProducerRecord<byte[], byte[]> finalHeartbeat(int records) {
    Map<String, String> headers = batch(records, 0);
    headers.put("lines_before", "5");
    headers.put("departing", "true");
    return record(new byte[0], headers);
  }

  private static byte[] batchOf(long decidedAtMillis) {
    return CallBatchWriter.encode(
        List.of(
            new CallEvent(
                "bad",
                false,
                "acme",
                CallEvent.DEFAULT_ENDPOINT,
                CallEvent.DEFAULT_METER,
                1,
                true,
                DecidedBy.CACHE,
                null,
                1,
                decidedAtMillis,
                null,
                List.of())));
  }

  private static Map<String, String> batch(long sequence, int count) {
    Map<String, String> headers = new HashMap<>();
    headers.put("weir-type", "calls");
    headers.put("node", "stranger");
    headers.put("node_epoch", "1");
    headers.put("batch_seq", Long.toString(sequence));
    headers.put("count", Integer.toString(count));
    headers.put("low_watermark_ms", Long.toString(System.currentTimeMillis()));
    headers.put("lines_before", Long.toString(Math.max(0, sequence - 1)));
    return headers;
  }

  private static ProducerRecord<byte[], byte[]> record(byte[] value, Map<String, String> headers) {
    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>("weir.calls.v1", 0, null, value);
    headers.forEach((name, text) -> record.headers().add(name, bytes(text)));
    return record;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void send(String kafka, Map<String, ProducerRecord<byte[], byte[]>> records)
      throws Exception {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (ProducerRecord<byte[], byte[]> record : records.values()) {
        producer.send(record).get();
      }
    }
  }

  /** Reason by the name that the test gave each bad record. */
  private static Map<String, String> awaitQuarantine(String kafka, int count) throws Exception {
    Map<String, String> reasons = new HashMap<>();
    Await.until(
        () -> count + " records in quarantine: " + reasons,
        () -> {
          for (ConsumerRecord<byte[], byte[]> record :
              TopicContents.read(kafka, "weir.quarantine.v1")) {
            reasons.put(
                Objects.requireNonNullElse(HeaderValues.text(record.headers(), "test"), "?"),
                Objects.requireNonNullElse(HeaderValues.text(record.headers(), "weir-reason"), ""));
          }
          return reasons.size() >= count;
        });
    return reasons;
  }

  private String call(String check, String id) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(URI.create(check))
                .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"acme\"}"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, answer.statusCode(), id + ": " + answer.body());
    return answer.headers().firstValue("Usage-Position").orElse("");
  }

  private String get(String url, String position) throws Exception {
    List<HttpResponse<String>> answers = new ArrayList<>();
    // the count may be further behind than a report waits
    Await.until(
        () -> "a report, not " + answers,
        () -> {
          answers.add(
              http.send(
                  HttpRequest.newBuilder(URI.create(url))
                      .header("Usage-Position", position)
                      .build(),
                  HttpResponse.BodyHandlers.ofString()));
          return answers.get(answers.size() - 1).statusCode() != 504;
        });
    HttpResponse<String> answer = answers.get(answers.size() - 1);
    assertEquals(200, answer.statusCode(), answer.body());
    return answer.body();
  }
}
