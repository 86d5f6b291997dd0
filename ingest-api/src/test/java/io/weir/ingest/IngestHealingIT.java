// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.limits.correction.Correction;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.CorrectionCodec;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One node over a real broker and a real Redis; the test speaks the aggregator's part. */
@CoreSuite
final class IngestHealingIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PARTITIONS = 2;
  private static final String CLIENT = "acme";
  private static final long HOUR_MICROS = 3_600_000_000L;

  private final HttpClient http = HttpClient.newHttpClient();
  private final List<ConsumerRecord<byte[], byte[]>> calls = new ArrayList<>();
  @TempDir Path folder;
  private TestKafka kafka;
  private TestRedis redis;
  private KafkaConsumer<byte[], byte[]> reader;
  private KafkaProducer<byte[], byte[]> aggregator;
  private Ingest ingest;

  @BeforeEach
  void start() throws Exception {
    kafka = TestKafka.borrow();
    redis = TestRedis.start();
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    Map<String, Object> settings = Map.of("bootstrap.servers", kafka.bootstrapServers());
    reader =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    List<TopicPartition> all =
        IntStream.range(0, PARTITIONS)
            .mapToObj(partition -> new TopicPartition(Topics.CALLS.name(), partition))
            .toList();
    reader.assign(all);
    reader.seekToBeginning(all);
    aggregator =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: hourly
            limit: {algorithm: token-bucket, capacity: 3, refill_tokens: 1, refill_period: PT1H}
        """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    environment.put("WEIR_READY_WAIT", "PT10M");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-1");
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    ingest = Ingest.start(IngestConfig.of(environment));
  }

  @AfterEach
  void stop() {
    ingest.close();
    aggregator.close();
    reader.close();
    redis.close();
    kafka.close();
  }

  @Test
  void cacheIsHealed_byACorrection_andAfterAFlush() throws Exception {
    String firstLife = awaitLoss(1);
    HttpResponse<String> cold = get("/health/ready");
    assertEquals(503, cold.statusCode(), cold.body());
    assertTrue(cold.body().contains("\"starting\":true"), cold.body());
    restored(firstLife);
    awaitMetric("weir_cache_warmth 1.0");
    Await.until("the node is ready", () -> get("/health/ready").statusCode() == 200);
    for (int call = 1; call <= 3; call++) {
      assertEquals(200, check(false).statusCode());
    }
    assertEquals(429, check(false).statusCode());
    Charge last = awaitCharges(3);

    publish(correction(last, 1, Correction.Cause.GAP));
    awaitRemaining(2);
    publish(correction(last, 1, Correction.Cause.GAP));
    awaitMetric("weir_corrections_total{outcome=\"stale\"} 1.0");
    assertEquals(2, remaining());
    awaitMetric("weir_corrections_total{outcome=\"applied\"} 1.0");
    awaitMetric("weir_corrections_tokens_total{direction=\"given\"} 2.0");
    awaitMetric("weir_correction_age_seconds_count{since=\"disturbed\"} 1");
    assertTrue(
        JSON.readTree(get("/health/ready").body()).path("corrections").path("ok").asBoolean());

    flush();
    String secondLife = awaitLoss(2);
    assertNotEquals(firstLife, secondLife);
    awaitMetric("weir_cache_warmth 0.0");
    publish(correction(last, 2, Correction.Cause.RESTORE));
    awaitMetric("weir_corrections_total{outcome=\"created\"} 1.0");
    restored(secondLife);
    awaitMetric("weir_cache_warmth 1.0");

    assertEquals(2, remaining());
    awaitMetric("weir_cache_restorations_total{event=\"completed\"} 2.0");
    Await.until(
        "the second loss in every partition",
        () -> {
          readCalls();
          return lossesOf(secondLife) >= PARTITIONS;
        });
    assertEquals(PARTITIONS, lossesOf(firstLife), "one a loss and partition");
    assertEquals(PARTITIONS, lossesOf(secondLife), "one a loss and partition");
  }

  @Test
  void redisUnavailable_correctionsAreAppliedLater() throws Exception {
    assertEquals(200, check(false).statusCode());
    Charge last = awaitCharges(1);
    redis.kill();
    publish(correction(last, 1, Correction.Cause.GAP));
    Await.until("it tries again", () -> !metrics().contains("weir_corrections_retries_total 0.0"));
    Await.until("the node is ready without Redis", () -> get("/health/ready").statusCode() == 200);
    redis.restart();

    Await.until("it is answered", () -> metrics().contains("weir_corrections_waiting 0.0"));
    awaitRemaining(3);
  }

  /** The correction that the aggregator publishes if two charged calls were not recorded. */
  private static Correction correction(Charge last, long version, Correction.Cause cause) {
    Stamp stamp = last.stamp();
    long now = System.currentTimeMillis();
    if (stamp == null || last.limit() == null) {
      throw new AssertionError("the call was not stamped: " + last);
    }
    return new Correction(
        last.bucket(),
        last.limit(),
        stamp.epoch(),
        version,
        stamp.charged(),
        stamp.fullAtEpochMicros() - 2 * HOUR_MICROS,
        1,
        -2,
        cause,
        now - 100,
        now,
        0);
  }

  private void publish(Correction correction) throws Exception {
    send(
        ClientPartitioner.partition(CLIENT, PARTITIONS),
        correction.bucket(),
        CorrectionCodec.TYPE,
        CorrectionCodec.encode(correction));
  }

  private void restored(String generation) throws Exception {
    for (int partition = 0; partition < PARTITIONS; partition++) {
      send(
          partition,
          CorrectionCodec.restoredKey(partition),
          CorrectionCodec.RESTORED_TYPE,
          CorrectionCodec.encode(
              new CacheRestored(generation, partition, PARTITIONS, 1, System.currentTimeMillis())));
    }
  }

  private void send(int partition, String key, String type, byte[] value) throws Exception {
    ProducerRecord<byte[], byte[]> record =
        new ProducerRecord<>(
            Topics.CORRECTIONS.name(), partition, key.getBytes(StandardCharsets.UTF_8), value);
    record.headers().add(BatchHeaderCodec.TYPE_HEADER, type.getBytes(StandardCharsets.UTF_8));
    aggregator.send(record).get();
  }

  private void readCalls() {
    reader.poll(Duration.ofMillis(100)).forEach(calls::add);
  }

  private static boolean is(ConsumerRecord<byte[], byte[]> record, String type) {
    return type.equals(HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER));
  }

  private List<ConsumerRecord<byte[], byte[]>> losses() {
    return calls.stream().filter(record -> is(record, CacheLossCodec.TYPE)).toList();
  }

  private long lossesOf(String generation) throws Exception {
    long found = 0;
    for (ConsumerRecord<byte[], byte[]> loss : losses()) {
      found += CacheLossCodec.decode(loss.value()).generation().equals(generation) ? 1 : 0;
    }
    return found;
  }

  /**
   * Waits until the given number of losses is in every partition; returns the name of the last one.
   */
  private String awaitLoss(int count) throws Exception {
    Await.until(
        "loss " + count,
        () -> {
          readCalls();
          return losses().size() >= count * PARTITIONS;
        });
    List<ConsumerRecord<byte[], byte[]>> losses = losses();
    return CacheLossCodec.decode(losses.get(losses.size() - 1).value()).generation();
  }

  /**
   * Waits until the given number of charged calls is recorded; returns the charge of the last one.
   */
  private Charge awaitCharges(int count) throws Exception {
    List<Charge> charges = new ArrayList<>();
    Await.until(
        count + " charges",
        () -> {
          readCalls();
          charges.clear();
          for (ConsumerRecord<byte[], byte[]> record : calls) {
            if (is(record, BatchHeaderCodec.TYPE)) {
              addCharges(record.value(), charges);
            }
          }
          return charges.size() >= count;
        });
    return charges.get(charges.size() - 1);
  }

  private static void addCharges(byte[] batch, List<Charge> charges) throws Exception {
    CallBatchReader.decode(batch).stream()
        .flatMap(call -> call.charges().stream())
        .filter(charge -> charge.cost() > 0)
        .forEach(charges::add);
  }

  private void flush() {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      connection.sync().flushall();
    } finally {
      client.shutdown();
    }
  }

  private void awaitMetric(String line) throws Exception {
    Await.until(line, () -> metrics().lines().anyMatch(each -> each.startsWith(line)));
  }

  private void awaitRemaining(long tokens) throws Exception {
    Await.until(tokens + " remaining", () -> remaining() == tokens);
  }

  private long remaining() throws Exception {
    JsonNode answer = JSON.readTree(check(true).body());
    return answer.path("limits").path(0).path("remaining").asLong(-1);
  }

  private String metrics() throws IOException, InterruptedException {
    return get("/metrics").body();
  }

  private HttpResponse<String> check(boolean peek) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(peek ? "/v1/check?peek=true" : "/v1/check"))
            .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"" + CLIENT + "\"}"))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(path)).GET().build(), HttpResponse.BodyHandlers.ofString());
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + ingest.httpPort() + path);
  }
}
