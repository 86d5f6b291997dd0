// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.redis.RedisBucketCorrector;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.servers.testing.CorrectionTopic;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.wire.CorrectionCodec;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The loop over a real broker; the cache is one in memory that can be made not to answer, but where
 * a test says real.
 */
final class CorrectionLoopIT {
  private static final int PARTITIONS = 4;

  private final FakeCorrector cache = new FakeCorrector();
  private TestKafka kafka;
  private CorrectionTopic topic;

  @BeforeEach
  void start() {
    use(TestKafka.borrow());
  }

  private void use(TestKafka server) {
    kafka = server;
    topic = new CorrectionTopic(kafka.bootstrapServers(), PARTITIONS);
  }

  @AfterEach
  void stop() {
    kafka.close();
  }

  /** For a test that stops it. */
  private void startABrokerOfItsOwn() {
    kafka.close();
    use(TestKafka.start());
  }

  private LoopNode node(String name) {
    return new LoopNode(name, kafka.bootstrapServers(), cache);
  }

  private static List<Correction> corrections(int from, int to, long version) {
    List<Correction> corrections = new ArrayList<>();
    for (int i = from; i < to; i++) {
      corrections.add(TestCorrections.correction("c" + i, 1, version));
    }
    return corrections;
  }

  private void awaitChanged(int count) throws Exception {
    Await.until(count + " changes", () -> cache.changed().size() >= count);
  }

  private void awaitCommitted(long records) throws Exception {
    Await.until(
        records + " records committed",
        () -> topic.committed().values().stream().mapToLong(Long::longValue).sum() >= records);
  }

  @Test
  void corrections_areAppliedOnceEach_andEveryRecordIsAccountedFor() throws Exception {
    topic.create().publish(corrections(0, 1_500, 1));
    try (LoopNode node = node("n1")) {
      awaitChanged(1_500);
      topic.publish(corrections(0, 100, 2));
      topic.publish(corrections(0, 100, 2));
      Await.until("all read", () -> node.statistics.read.count() == 1_700);
      Await.until("all answered", () -> node.ended() == node.statistics.read.count());

      assertEquals(1_600, cache.changed().size());
      assertEquals(1_500, cache.versions().size());
      assertEquals(2, cache.versions().get(TestCorrections.bucket("c99")));
      assertEquals(1_500, node.statistics.outcomes(Kind.CREATED).count());
      assertEquals(100, node.statistics.outcomes(Kind.APPLIED).count());
      assertEquals(0, node.statistics.retries.count());
      Await.until("no lag", () -> node.statistics.lagRecords() == 0);
      awaitCommitted(1_700);
      Await.until("no trouble", node.status::isWell);
    }
  }

  @Test
  void corrections_ofAnAbortedTransaction_areNeverApplied() throws Exception {
    topic.create().abort(corrections(0, 50, 9));
    topic.publish(corrections(0, 50, 1));
    topic.abort(corrections(0, 50, 8));
    topic.publish(corrections(50, 60, 1));
    try (LoopNode node = node("n1")) {
      awaitChanged(60);
      assertEquals(60, node.statistics.read.count());
    }
    assertTrue(cache.versions().values().stream().allMatch(version -> version == 1));
  }

  @Test
  void replayFromTheStart_changesNothing() throws Exception {
    topic.create().publish(corrections(0, 300, 1));
    topic.publish(corrections(0, 300, 2));
    try (LoopNode node = node("n1")) {
      Await.until("all read", () -> node.ended() == 600);
      awaitCommitted(600);
    }
    int before = cache.changed().size();
    topic.rewind();
    try (LoopNode again = node("n1")) {
      Await.until("all read again", () -> again.ended() == 600);
      assertEquals(
          600, again.statistics.outcomes(Kind.STALE).count() + again.statistics.superseded.count());
      awaitCommitted(600);
    }
    assertEquals(before, cache.changed().size());
    // and a node that goes on where the last one stopped reads nothing again
    try (LoopNode last = node("n2")) {
      topic.publish(corrections(300, 301, 1));
      awaitChanged(before + 1);
      assertEquals(1, last.statistics.read.count());
    }
  }

  @Test
  void realCache_replayFromTheStart_changesNothing() throws Exception {
    List<Correction> corrections = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      corrections.add(TestCorrections.lasting("c" + i, 1));
    }
    topic.create().publish(corrections);
    try (TestRedis redis = TestRedis.borrow();
        BucketCorrector corrector =
            RedisBucketCorrector.start(
                RedisCacheConfig.of(redis.uri())
                    .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1)))) {
      try (LoopNode node = new LoopNode("n1", kafka.bootstrapServers(), corrector)) {
        Await.until("all answered", () -> node.ended() == 600);
        assertEquals(600, node.statistics.outcomes(Kind.CREATED).count());
        assertTrue(node.statistics.tokensTaken.count() >= 600);
        awaitCommitted(600);
      }
      topic.rewind();
      try (LoopNode again = new LoopNode("n2", kafka.bootstrapServers(), corrector)) {
        Await.until("all answered again", () -> again.ended() == 600);
        assertEquals(600, again.statistics.outcomes(Kind.STALE).count());
        assertEquals(
            0, again.statistics.tokensTaken.count() + again.statistics.tokensGiven.count());
      }
    }
  }

  @Test
  void cacheUnavailable_losesAndCommitsNothing_thenContinues() throws Exception {
    cache.setAvailable(false);
    topic.create().publish(corrections(0, 2_000, 1));
    try (LoopNode node = node("n1")) {
      Await.until("five refusals", () -> cache.refusals() >= 5);
      assertTrue(topic.committed().values().stream().allMatch(offset -> offset == 0));
      assertFalse(node.status.isWell());
      assertTrue(
          node.statistics.read.count() < 2_000 && node.statistics.waiting() > 0,
          "it reads no further");
      Await.until("lag", () -> node.statistics.lagRecords() >= 2_000);

      cache.setAvailable(true);
      awaitChanged(2_000);

      assertEquals(2_000, cache.changed().size());
      awaitCommitted(2_000);
      assertEquals(0, node.statistics.handedBack.count(), "the group kept the member");
      Await.until("no trouble", node.status::isWell);
    }
  }

  @Test
  void close_cacheUnavailable_doesNotWait_nextNodeAppliesAll() throws Exception {
    cache.setAvailable(false);
    topic.create().publish(corrections(0, 100, 1));
    LoopNode first = node("n1");
    Await.until("a refusal", () -> cache.refusals() > 0);
    long before = cache.refusals();
    first.close();

    long meanwhile = cache.refusals() - before;
    assertTrue(meanwhile <= 5, () -> "the cache was asked " + meanwhile + " times more");
    assertEquals("stopped", first.status.detail());
    assertEquals(first.statistics.read.count(), first.ended());
    cache.setAvailable(true);
    try (LoopNode second = node("n2")) {
      awaitChanged(100);
      assertEquals(0, second.statistics.retries.count());
    }
  }

  @Test
  void restored_isNotedAfterTheCorrectionsBeforeIt() throws Exception {
    CacheRestored restored = new CacheRestored("g1", 0, PARTITIONS, 1, 5);
    cache.setAvailable(false);
    topic.create().publish(corrections(0, 100, 1));
    topic.publish(restored);
    try (LoopNode node = node("n1")) {
      Await.until("a refusal", () -> cache.refusals() > 0);
      assertEquals(List.of(), node.life.noted());
      cache.setAvailable(true);
      Await.until("noted", () -> !node.life.noted().isEmpty());

      assertEquals(List.of(restored), node.life.noted());
      long before = cache.changed().stream().filter(each -> partition(each) == 0).count();
      assertEquals(
          corrections(0, 100, 1).stream().filter(each -> partition(each) == 0).count(), before);
    }
  }

  private static int partition(Correction correction) {
    String bucket = correction.bucket();
    return ClientPartitioner.partition(BucketKey.parse(bucket).client().shown(), PARTITIONS);
  }

  @Test
  void malformedRecords_areSkippedAndCounted() throws Exception {
    topic.create();
    byte[] good = CorrectionCodec.encode(TestCorrections.correction("c0", 1, 1));
    topic.publishRaw(0, null, good);
    topic.publishRaw(0, "drift", good);
    topic.publishRaw(0, CorrectionCodec.TYPE, new byte[] {1, 2, 3});
    topic.publishRaw(0, CorrectionCodec.RESTORED_TYPE, good);
    topic.publishRaw(
        0,
        CorrectionCodec.TYPE,
        new String(good, StandardCharsets.UTF_8)
            .replace("w1:", "w0:")
            .getBytes(StandardCharsets.UTF_8));
    topic.publishRaw(0, CorrectionCodec.TYPE, null);
    topic.publish(corrections(0, 10, 1));
    try (LoopNode node = node("n1")) {
      awaitChanged(10);
      Await.until("all answered", () -> node.ended() == 14);

      assertEquals(4, node.statistics.malformed.count());
      assertEquals(14, node.statistics.read.count(), "a tombstone and an unknown kind are none");
      awaitCommitted(16);
    }
  }

  @Test
  void storm_keepsTheRate_overAnyStretch() throws Exception {
    int rate = 10_000;
    int batch = 200;
    topic.create().publish(corrections(0, 5_000, 1));
    try (LoopNode node =
        new LoopNode("n1", kafka.bootstrapServers(), cache, rate, LocalClock.ofSystem())) {
      awaitChanged(5_000);
      assertEquals(5_000, node.statistics.outcomes(Kind.CREATED).count());
    }
    List<FakeCorrector.Call> calls = cache.calls();
    for (int from = 0; from < calls.size(); from++) {
      int count = 0;
      for (int to = from; to < calls.size(); to++) {
        count += calls.get(to).corrections().size();
        double seconds = (calls.get(to).atNanos() - calls.get(from).atNanos()) / 1e9;
        // 50 ms are saved up; the first batch may have been on its way for any time
        assertTrue(
            count <= rate * (seconds + 0.05) + 2 * batch + 1,
            count + " corrections in " + seconds + " s");
      }
    }
  }

  @Test
  void topicMissing_thenKafkaUnavailable_waitsAndContinues() throws Exception {
    startABrokerOfItsOwn();
    try (LoopNode node = node("n1")) {
      Await.until("it says so", () -> node.status.detail().contains("does not exist"));
      topic.create().publish(corrections(0, 10, 1));
      awaitChanged(10);
      kafka.stop();
      Await.until("it notices", () -> !node.status.isWell());
      kafka.restart();
      topic.publish(corrections(10, 20, 1));
      awaitChanged(20);
      Await.until("it says so", node.status::isWell);
    }
  }

  @Test
  void kafkaUnavailableAtTheStart_appliesCorrectionsLater() throws Exception {
    startABrokerOfItsOwn();
    topic.create().publish(corrections(0, 10, 1));
    kafka.stop();
    try (LoopNode node = node("n1")) {
      Await.until("it tries", () -> node.status.detail().contains("Exception"));
      kafka.restart();
      awaitChanged(10);
    }
  }

  @Test
  void twoNodes_shareThePartitions_andOneGoesOnWhenTheOtherIsKilled() throws Exception {
    killOneOfTwo(true);
  }

  @Test
  @FullSuite(
      reason =
          "waits 10 s for the end of a killed node's session; the same with a session that the test"
              + " ends always runs")
  void twoNodes_oneIsKilled_theOtherTakesOverAfterTheSessionTimeout() throws Exception {
    killOneOfTwo(false);
  }

  private void killOneOfTwo(boolean sessionIsEnded) throws Exception {
    topic.create();
    Process child =
        new ProcessBuilder(
                ChildJvm.command("128m", LoopChild.class, kafka.bootstrapServers(), "n2"))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (BufferedReader lines =
            new BufferedReader(
                new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8));
        LoopNode node = node("n1")) {
      int published = publishUntilBothApplied(lines, child);
      child.destroyForcibly();
      child.waitFor();
      if (sessionIsEnded) {
        topic.endSession("n2");
      }
      int last = published + 200;
      topic.publish(corrections(published, last, 1));

      Map<String, Long> expected = new HashMap<>();
      for (int i = published; i < last; i++) {
        expected.put(TestCorrections.bucket("c" + i), 1L);
      }
      Await.until(
          "all that came after the kill",
          () -> cache.versions().entrySet().containsAll(expected.entrySet()));
      Await.until("no trouble", node.status::isWell);
    } finally {
      child.destroyForcibly();
    }
  }

  /** Publishes until each of the two has applied some; returns how many were published. */
  private int publishUntilBothApplied(BufferedReader lines, Process child) throws Exception {
    AtomicInteger published = new AtomicInteger();
    AtomicBoolean childApplied = new AtomicBoolean();
    Await.until(
        "both to get partitions",
        () -> {
          assertTrue(child.isAlive(), "the child lives");
          int from = published.getAndAdd(20);
          topic.publish(corrections(from, from + 20, 1));
          while (lines.ready()) {
            childApplied.compareAndSet(false, !lines.readLine().equals("applied 0"));
          }
          return childApplied.get() && !cache.changed().isEmpty();
        });
    return published.get();
  }
}
