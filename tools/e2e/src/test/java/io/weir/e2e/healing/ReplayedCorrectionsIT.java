// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.redis.RedisBucketCorrector;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.servers.testing.CorrectionTopic;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Corrections that have been applied come again, in every way that Kafka and operators know. */
@FullSuite(
    reason =
        "every correction many times; each simulated history, which always runs, reads its"
            + " corrections again")
final class ReplayedCorrectionsIT {
  private static final int CLIENTS = 60;
  private static final int COPIES = 3;
  private static final long SEED = 20_260_721;

  /** Slow, so that no bucket is full, and forgotten, before the end of the test. */
  private static final Rule BURST = Rule.bucket("burst", "*", 50, Duration.ofHours(1)).debtCap(100);

  private static final Rule MONTHLY = Rule.quota("monthly", "*", 1_000);
  private static final List<Rule> RULES = List.of(BURST, MONTHLY);

  @TempDir private Path folder;

  @Test
  void corrections_replayedInAnyOrderByAnyNode_changeNoBucket() throws Exception {
    try (Fleet fleet = Fleet.start(folder, RULES, 2);
        RedisEye eye = new RedisEye(fleet.redis().uri())) {
      CorrectionTopic topic = new CorrectionTopic(fleet.kafka(), Fleet.PARTITIONS);
      disturb(fleet, eye);
      awaitApplied(topic);
      Map<String, List<Byte>> before = eye.dump();
      List<ConsumerRecord<byte[], byte[]>> records = topic.records();
      List<Correction> corrections = topic.corrections();
      assertTrue(before.size() >= 2 * CLIENTS, () -> "only " + before.size() + " buckets");
      assertTrue(
          corrections.stream().filter(correction -> correction.version() > 1).count() > CLIENTS,
          () -> "hardly a bucket was corrected twice: " + corrections.size());

      publishAgainInDisorder(fleet.kafka(), records);
      awaitApplied(topic);
      assertEquals(before, eye.dump(), "published again, several times and in disorder");

      applyByTwoAtOnce(fleet.redis().uri(), corrections);
      assertEquals(before, eye.dump(), "applied by two appliers at once");

      fleet.stopNodes();
      topic.rewind();
      fleet.startNodes(2);
      awaitApplied(topic);
      assertEquals(before, eye.dump(), "replayed from the start of the topic");
    }
  }

  /** Charges without records twice, and a flush: several versions, in more than one epoch. */
  private void disturb(Fleet fleet, RedisEye eye) throws Exception {
    try (CallTopic topic = new CallTopic(fleet.kafka());
        RedisDecisionCache crashing =
            RedisDecisionCache.start(
                RedisCacheConfig.of(fleet.redis().uri()).withDeadline(Duration.ofSeconds(20)));
        Load load =
            Load.on(
                fleet,
                8,
                5.0 * CLIENTS,
                n -> new Load.Call("client-" + n % CLIENTS, "GET /v1/items", 1))) {
      load.start().awaitAnswered(2 * CLIENTS);
      chargeWithoutRecord(crashing);
      load.awaitAnswered(10 * CLIENTS);
      eye.flush();
      load.awaitAnswered(10 * CLIENTS);
      chargeWithoutRecord(crashing);
      load.awaitAnswered(5 * CLIENTS);
      load.stop();
      Oracle oracle = new Oracle(RULES, topic.through(System.currentTimeMillis(), 2));
      Standing.awaitRight(oracle, eye);
    }
  }

  private static void chargeWithoutRecord(RedisDecisionCache cache) {
    long now = System.currentTimeMillis();
    for (int i = 0; i < CLIENTS; i++) {
      for (Rule rule : RULES) {
        Rule.Place place = rule.place("client-" + i, now);
        cache.take(new Check(List.of(new BucketRequest(place.key(), place.limit(), true)), 4));
      }
    }
  }

  private static void publishAgainInDisorder(
      String kafka, List<ConsumerRecord<byte[], byte[]>> records) {
    List<ConsumerRecord<byte[], byte[]>> copies = new ArrayList<>();
    for (int i = 0; i < COPIES; i++) {
      copies.addAll(records);
    }
    Collections.shuffle(copies, new Random(SEED));
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (ConsumerRecord<byte[], byte[]> copy : copies) {
        var unused =
            producer.send(
                new ProducerRecord<>(
                    copy.topic(), copy.partition(), copy.key(), copy.value(), copy.headers()));
      }
      producer.flush();
    }
  }

  private static void applyByTwoAtOnce(String redis, List<Correction> corrections)
      throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    List<Future<?>> running = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      List<Correction> own = new ArrayList<>(corrections);
      Collections.shuffle(own, new Random(SEED + i));
      running.add(threads.submit(() -> apply(redis, own)));
    }
    for (Future<?> one : running) {
      one.get();
    }
    threads.shutdown();
  }

  private static int apply(String redis, List<Correction> corrections) throws Exception {
    try (RedisBucketCorrector corrector =
        RedisBucketCorrector.start(
            RedisCacheConfig.of(redis)
                .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1)))) {
      for (int from = 0; from < corrections.size(); from += BucketCorrector.MAX_BATCH) {
        int to = Math.min(corrections.size(), from + BucketCorrector.MAX_BATCH);
        corrector.apply(
            corrections.subList(from, to).stream()
                .map(correction -> new BoundedCorrection(correction, BURST.debtCapTokens()))
                .toList());
      }
    }
    return corrections.size();
  }

  /** Waits until the appliers' group has committed what stands behind the last record. */
  private static void awaitApplied(CorrectionTopic topic) throws Exception {
    Map<Integer, Long> ends = new HashMap<>();
    topic
        .records()
        .forEach(record -> ends.merge(record.partition(), record.offset() + 1, Math::max));
    Map<Integer, Long> committed = new HashMap<>();
    Await.until(
        () -> "committed are " + committed + ", the ends are " + ends,
        () -> {
          committed.clear();
          committed.putAll(topic.committed());
          return ends.entrySet().stream()
              .allMatch(end -> committed.getOrDefault(end.getKey(), -1L) >= end.getValue());
        });
  }
}
