// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisCacheLife;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.correct.CacheWatch.LossAnnouncer;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Watches that announce losses to a real broker. */
final class CacheWatchIT {
  private static final int PARTITIONS = 3;

  private final FakeLife life = new FakeLife();
  private final CorrectionStatistics first = new CorrectionStatistics(new SimpleMeterRegistry());
  private final CorrectionStatistics second = new CorrectionStatistics(new SimpleMeterRegistry());
  private final List<CacheWatch> watches = new ArrayList<>();
  private TestKafka kafka;

  @BeforeEach
  void start() throws Exception {
    kafka = TestKafka.borrow();
    createCallsTopic();
  }

  private void createCallsTopic() throws Exception {
    CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
  }

  @AfterEach
  void stop() {
    stopWatches();
    kafka.close();
  }

  private void watch(String node, CorrectionStatistics statistics) {
    watch(node, statistics, life);
  }

  private void watch(String node, CorrectionStatistics statistics, CacheLife life) {
    watch(node, statistics, life, Await.TIMEOUT);
  }

  private void watch(
      String node, CorrectionStatistics statistics, CacheLife life, Duration requestTimeout) {
    CorrectionSettings settings =
        new CorrectionSettings(node, KafkaConnection.to(kafka.bootstrapServers()), 1);
    CacheWatch watch =
        new CacheWatch(
            life,
            new KafkaLossAnnouncer(settings, requestTimeout),
            statistics,
            LocalClock.ofSystem(),
            System::currentTimeMillis);
    watch.start();
    watches.add(watch);
  }

  private void stopWatches() {
    watches.forEach(CacheWatch::close);
    watches.clear();
  }

  private double begun() {
    return first.restorationsBegun.count() + second.restorationsBegun.count();
  }

  private double completed() {
    return first.restorationsCompleted.count() + second.restorationsCompleted.count();
  }

  @Test
  void coldCache_twoWatches_announceOneLossToEveryPartition_eachTime() throws Exception {
    watch("n1", first);
    watch("n2", second);
    for (int loss = 1; loss <= 2; loss++) {
      int losses = loss;
      life.set(Warmth.COLD);
      Await.until("a loss is announced", () -> begun() == losses);
      life.set(Warmth.WARM);
      Await.until("the watch has seen it warm", () -> completed() == losses);
    }
    stopWatches();

    assertEquals(List.of("0 g1", "0 g2", "1 g1", "1 g2", "2 g1", "2 g2"), losses());
  }

  @Test
  void realCache_twoWatches_announceEachLossOncePerPartition() throws Exception {
    try (TestRedis redis = TestRedis.borrow();
        RedisDecisionCache one = RedisDecisionCache.start(patient(redis));
        RedisDecisionCache other = RedisDecisionCache.start(patient(redis))) {
      CacheLife lifeOfOne = RedisCacheLife.of(one);
      watch("n1", first, lifeOfOne);
      watch("n2", second, RedisCacheLife.of(other));
      for (int loss = 1; loss <= 2; loss++) {
        int losses = loss;
        Await.until("a loss is announced", () -> begun() == losses);
        Await.until(
            "both see it cold",
            () -> first.warmth() == Warmth.COLD && second.warmth() == Warmth.COLD);
        restore(lifeOfOne);
        Await.until(
            "both see it warm",
            () -> first.warmth() == Warmth.WARM && second.warmth() == Warmth.WARM);
        Await.until("the one that announced it to count", () -> completed() == losses);
        if (loss == 1) {
          flush(redis);
        }
      }
      stopWatches();
    }
    List<String> losses = losses();
    for (int partition = 0; partition < PARTITIONS; partition++) {
      String prefix = partition + " ";
      long ofPartition = losses.stream().filter(loss -> loss.startsWith(prefix)).count();
      assertEquals(2, ofPartition, losses.toString());
    }
    assertEquals(losses.size(), losses.stream().distinct().count());
  }

  private static RedisCacheConfig patient(TestRedis redis) {
    return RedisCacheConfig.of(redis.uri())
        .withDeadline(Duration.ofMinutes(1))
        .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1));
  }

  /** Notes every partition of the loss announced last, as a loop would. */
  private void restore(CacheLife ofNode) throws Exception {
    for (String loss : losses()) {
      String[] partitionAndGeneration = loss.split(" ", 2);
      CacheRestored restored =
          new CacheRestored(
              partitionAndGeneration[1],
              Integer.parseInt(partitionAndGeneration[0]),
              PARTITIONS,
              0,
              1);
      Await.until(restored + " to be noted", () -> isNoted(ofNode, restored));
    }
  }

  /** Retries like the loop if the cache has not replied in time. */
  private static boolean isNoted(CacheLife ofNode, CacheRestored restored) {
    try {
      boolean unused = ofNode.noteRestored(restored);
      return true;
    } catch (CacheUnavailableException slow) {
      return false;
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
  void callsTopicMissing_restorationIsAbandoned_andBeginsAgainLater() throws Exception {
    kafka.close();
    kafka = TestKafka.borrow();
    life.set(Warmth.COLD);
    watch("n1", first);
    Await.until("it is abandoned", () -> !life.abandoned().isEmpty());
    assertEquals(0, begun());
    createCallsTopic();
    assertBeginsAgain();
  }

  @Test
  @FullSuite(
      reason =
          "waits 5 s and more for a broker that is away; the same without the topic always runs")
  void kafkaUnavailable_restorationIsAbandoned_andBeginsAgain() throws Exception {
    kafka.close();
    kafka = TestKafka.start();
    createCallsTopic();
    kafka.stop();
    life.set(Warmth.COLD);
    watch("n1", first, life, Duration.ofSeconds(5));
    Await.until("it is abandoned", () -> !life.abandoned().isEmpty());
    assertEquals(0, begun());
    kafka.restart();
    assertBeginsAgain();
  }

  private void assertBeginsAgain() throws Exception {
    Await.until("it is begun", () -> begun() == 1);
    stopWatches();

    List<String> losses = losses();
    String last = "g" + (life.abandoned().size() + 1);
    for (int partition = 0; partition < PARTITIONS; partition++) {
      assertTrue(losses.contains(partition + " " + last), losses.toString());
    }
    assertEquals(first.restorationsAbandoned.count(), life.abandoned().size());
  }

  @Test
  void callsTopicMissing_isNeverCreated() throws Exception {
    kafka.close();
    kafka = TestKafka.borrow();
    KafkaLossAnnouncer announcer =
        new KafkaLossAnnouncer(
            new CorrectionSettings("n", KafkaConnection.to(kafka.bootstrapServers()), 1),
            Await.TIMEOUT);
    for (int attempt = 0; attempt < 2; attempt++) {
      Await.until(
          "the broker to answer that there is no such topic",
          () -> {
            LossAnnouncer.FailedException failed =
                assertThrows(
                    LossAnnouncer.FailedException.class,
                    () -> announcer.announce(new CacheLoss("g", 1)));
            return String.valueOf(failed.getMessage()).contains("UnknownTopicOrPartition");
          });
    }
  }

  /** All of the topic, as "partition generation", in order. */
  private List<String> losses() throws Exception {
    List<String> losses = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record :
        TopicContents.read(kafka.bootstrapServers(), Topics.CALLS.name())) {
      assertEquals(
          CacheLossCodec.TYPE, HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER));
      assertEquals(null, record.key());
      losses.add(record.partition() + " " + CacheLossCodec.decode(record.value()).generation());
    }
    return losses.stream().sorted().toList();
  }
}
