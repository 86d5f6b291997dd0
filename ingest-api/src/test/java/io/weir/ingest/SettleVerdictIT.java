// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.SettlementVerdictCodec;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answers to settlements for each verdict of the aggregator, which the test plays. */
final class SettleVerdictIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PARTITIONS = 2;
  private static final UsagePosition FIRST = new UsagePosition(0, "elsewhere", 1, 7);

  private final HttpClient http = HttpClient.newHttpClient();
  private final Set<UsagePosition> judged = new HashSet<>();
  @TempDir private Path folder;
  private TestKafka kafka;
  private TestRedis redis;
  private KafkaProducer<byte[], byte[]> counter;
  private Ingest ingest;

  @BeforeEach
  void start() throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.borrow();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    counter =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    Path policies = Files.writeString(folder.resolve("policies.yml"), "policies: []\n");
    ingest =
        Ingest.start(
            IngestConfig.of(
                Map.of(
                    "WEIR_KAFKA", kafka.bootstrapServers(),
                    "WEIR_SINGLE_COPY", "allow",
                    "WEIR_STOP_DELAY", "PT0S",
                    "WEIR_REDIS", redis.uri(),
                    "WEIR_NODE", "node-1",
                    "WEIR_HTTP_HOST", "127.0.0.1",
                    "WEIR_HTTP_PORT", "0",
                    "WEIR_DATA", folder.resolve("data").toString(),
                    "WEIR_POLICIES", policies.toString(),
                    "WEIR_DECISION_DEADLINE", "PT10S")));
  }

  @AfterEach
  void stop() {
    ingest.close();
    counter.close();
    redis.close();
    kafka.close();
  }

  @Test
  void settlement_isPendingUntilCounted_thenAnsweredByTheAggregatorsVerdict() throws Exception {
    HttpResponse<String> call = post("/v1/check", "{\"client\":\"acme\",\"cost\":8}");
    String id = JSON.readTree(call.body()).path("id").asText();

    HttpResponse<String> pending = settleOnceFound(id, 12);
    assertEquals(202, pending.statusCode(), pending::body);
    assertEquals("1", pending.headers().firstValue("Retry-After").orElse(""));
    assertTrue(JSON.readTree(pending.body()).path("changed").isMissingNode(), pending::body);
    UsagePosition place =
        UsagePosition.parse(pending.headers().firstValue("Usage-Position").orElse(""));
    assertEquals(Set.of(place), settlements());
    judged.add(place);

    HttpResponse<String> before =
        judge(id, 12, Outcome.SETTLED_BEFORE, new Standing(12, FIRST), null);
    assertEquals(200, before.statusCode(), before::body);
    assertEquals(FIRST.toString(), before.headers().firstValue("Usage-Position").orElse(""));
    JsonNode body = JSON.readTree(before.body());
    assertEquals(false, body.path("changed").asBoolean(true));
    assertEquals(409, judge(id, 3, Outcome.SETTLED_BEFORE, null, null).statusCode());
    HttpResponse<String> refused = judge(id, 0, Outcome.REFUSED, null, "not counted");
    assertEquals(409, refused.statusCode(), refused::body);
    assertTrue(refused.body().contains("not counted"), refused::body);
  }

  /** Settles again and again until the call has come to Kafka and was found in time. */
  private HttpResponse<String> settleOnceFound(String id, long actualCost) throws Exception {
    AtomicReference<HttpResponse<String>> answer = new AtomicReference<>();
    Await.until(
        "the call to be found",
        () -> {
          HttpResponse<String> settled = settle(id, actualCost);
          answer.set(settled);
          return settled.statusCode() != 404 && settled.statusCode() != 503;
        });
    return Objects.requireNonNull(answer.get());
  }

  /** Settles again and again until one was judged in time. */
  private HttpResponse<String> judge(
      String id,
      long actualCost,
      Outcome outcome,
      @Nullable Standing standing,
      @Nullable String reason)
      throws Exception {
    AtomicReference<HttpResponse<String>> answer = new AtomicReference<>();
    Await.until(
        "a settlement to be judged in time",
        () -> {
          CompletableFuture<HttpResponse<String>> settling =
              CompletableFuture.supplyAsync(() -> settleUnchecked(id, actualCost));
          Await.until(
              "the settlement", () -> settling.isDone() || !judged.containsAll(settlements()));
          for (UsagePosition place : settlements()) {
            if (judged.add(place)) {
              publish(new SettlementVerdict(place, "acme", id, outcome, standing, reason));
            }
          }
          HttpResponse<String> settled = settling.join();
          answer.set(settled);
          return settled.statusCode() == 200 || settled.statusCode() == 409;
        });
    return Objects.requireNonNull(answer.get());
  }

  private void publish(SettlementVerdict verdict) throws Exception {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(
            Topics.SETTLEMENTS.name(),
            verdict.position().partition(),
            null,
            SettlementVerdictCodec.encode(verdict));
    byte[] type = SettlementVerdictCodec.TYPE.getBytes(StandardCharsets.UTF_8);
    record.headers().add(BatchHeaderCodec.TYPE_HEADER, type);
    counter.send(record).get();
  }

  /** The places of all settlements in the log. */
  private Set<UsagePosition> settlements() throws Exception {
    Set<UsagePosition> places = new HashSet<>();
    for (CallsTopicReader.Batch batch : CallsTopicReader.read(kafka.bootstrapServers())) {
      List<CallEvent> calls = batch.calls();
      for (int i = 0; i < calls.size(); i++) {
        if (calls.get(i).settlement() != null) {
          places.add(
              new UsagePosition(
                  batch.partition(),
                  batch.header().node(),
                  batch.header().nodeEpoch(),
                  batch.header().linesBefore() + i + 1));
        }
      }
    }
    return places;
  }

  private HttpResponse<String> settleUnchecked(String id, long actualCost) {
    try {
      return settle(id, actualCost);
    } catch (Exception failed) {
      throw new AssertionError(failed);
    }
  }

  private HttpResponse<String> settle(String id, long actualCost) throws Exception {
    return post(
        "/v1/calls/" + id + "/settle", "{\"client\":\"acme\",\"actual_cost\":" + actualCost + "}");
  }

  private HttpResponse<String> post(String path, String body) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + ingest.httpPort() + path))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }
}
