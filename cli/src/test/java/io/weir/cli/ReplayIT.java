// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Calls over HTTP, a real Redis that is flushed and away, and a real broker, decided again. */
final class ReplayIT {
  private final HttpClient http = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private String output = "";

  private int run(Map<String, String> environment, String... arguments) {
    StringWriter out = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(environment)
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(out, true));
    int status = command.execute(arguments);
    output = out.toString();
    return status;
  }

  private String check(Ingest ingest, String endpoint) throws Exception {
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:" + ingest.httpPort() + "/v1/check"))
                .POST(
                    HttpRequest.BodyPublishers.ofString(
                        "{\"client\":\"acme\",\"endpoint\":\"" + endpoint + "\"}"))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    return json.readTree(answer.body()).path("decided_by").asText();
  }

  @Test
  void flushAndOutage_areNamed(@TempDir Path folder) throws Exception {
    try (TestKafka kafka = TestKafka.start();
        TestRedis redis = TestRedis.start()) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
        topics.createMissing(2, Optional.empty());
      }
      Path policies = folder.resolve("policies.yml");
      Files.writeString(
          policies,
          """
          policies:
            - name: slow
              limit: {capacity: 8, refill_tokens: 1, refill_period: PT1H}
            - name: daily
              match: {endpoint: [pages]}
              limit: {algorithm: quota, limit: 1000, period: day}
          """);
      Instant from = Instant.now().minusSeconds(60);
      try (Ingest ingest =
          Ingest.start(
              IngestConfig.of(
                  Map.ofEntries(
                      Map.entry("WEIR_SINGLE_COPY", "allow"),
                      Map.entry("WEIR_KAFKA", kafka.bootstrapServers()),
                      Map.entry("WEIR_REDIS", redis.uri()),
                      Map.entry("WEIR_NODE", "node-1"),
                      Map.entry("WEIR_HTTP_HOST", "127.0.0.1"),
                      Map.entry("WEIR_HTTP_PORT", "0"),
                      Map.entry("WEIR_DATA", folder.resolve("data").toString()),
                      Map.entry("WEIR_POLICIES", policies.toString()),
                      Map.entry("WEIR_DECISION_DEADLINE", "PT5S"))))) {
        ingest.awaitReady();
        for (int i = 0; i < 10; i++) {
          assertEquals("cache", check(ingest, i % 2 == 0 ? "pages" : "items"));
        }
        flush(redis);
        for (int i = 0; i < 4; i++) {
          assertEquals("cache", check(ingest, "pages"));
        }
        redis.kill();
        assertEquals("local", check(ingest, "items"));
      }

      Instant to = Instant.now().plusMillis(1);
      int status =
          run(
              Map.of("WEIR_KAFKA", kafka.bootstrapServers()),
              "replay",
              "--check",
              "--json",
              "--from",
              from.toString(),
              "--to",
              to.toString());

      assertEquals(0, status, output);
      JsonNode report = json.readTree(output);
      assertEquals(15, report.path("calls").asInt(), output);
      assertEquals(15, report.path("equal_calls").asInt(), output);
      assertEquals(0, report.path("unexplained").asInt(), output);
      assertEquals(2, report.path("explained").path("fresh-epoch").asInt(), output); // both buckets
      assertEquals(1, report.path("not_compared").path("failure-mode").asInt(), output);
      assertTrue(report.path("unproven").isEmpty(), output);

      assertUnproven(kafka, "the range ends in the future", from, Instant.now().plusSeconds(60));
      send(kafka, "no batch", false);
      assertUnproven(
          kafka, "records that are not batches may have calls of the range: 1", from, to);
      send(kafka, "no line", true);
      assertUnproven(kafka, "unreadable lines may be calls of the range: 1", from, to);
      assertUnproven(kafka, "node node-9 may still send calls", from, to);
    }
  }

  private void assertUnproven(TestKafka kafka, String reason, Instant from, Instant to) {
    int status =
        run(
            Map.of("WEIR_KAFKA", kafka.bootstrapServers()),
            "replay",
            "--check",
            "--from",
            from.toString(),
            "--to",
            to.toString());

    assertEquals(3, status, output);
    assertTrue(output.contains("UNPROVEN " + reason), output);
  }

  /** Sends a record with the headers of a batch, or without any. */
  private static void send(TestKafka kafka, String value, boolean isBatch) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(Topics.CALLS.name(), 0, null, value.getBytes(UTF_8));
      if (isBatch) {
        BatchHeaderCodec.encode(new BatchHeader("node-9", 1, 1, 1, 0, 0, false))
            .forEach((name, bytes) -> record.headers().add(name, bytes));
      }
      producer.send(record).get();
    }
  }

  private static void flush(TestRedis redis) {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().flushall();
    } finally {
      client.shutdown();
    }
  }

  @Test
  void wrongOptions_areNamed(@TempDir Path folder) {
    String[] range = {"--from", "2026-11-02T00:00:00Z", "--to", "2026-11-01T00:00:00Z"};
    assertEquals(2, run(Map.of(), "replay", "--check", range[0], range[1], range[2], range[3]));
    assertTrue(output.contains("--from must be before --to"), output);
    assertEquals(2, run(Map.of(), "replay", range[2], range[1], range[0], range[3]));
    assertTrue(output.contains("--check"), output);
    String missing = folder.resolve("none").toString();
    for (String option : new String[] {"--scratch", "--policies"}) {
      assertEquals(
          2,
          run(
              Map.of(), "replay", "--check", "--from", range[3], "--to", range[1], option,
              missing));
      assertTrue(output.contains(option), output);
    }
  }
}
