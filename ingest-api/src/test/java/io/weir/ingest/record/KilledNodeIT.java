// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import io.weir.testing.FullSuite;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsagePosition;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node that is killed with SIGKILL again and again, with Kafka there and without. */
final class KilledNodeIT {
  private static final int PARTITIONS = 3;
  private static final int CALLS_A_ROUND = 3_000;

  @TempDir Path temp;

  @Test
  void answeredCalls_nodeKilledManyTimes_areAllInKafkaInOrder() throws Exception {
    killAgainAndAgain(1, 1);
  }

  @Test
  @FullSuite(
      reason =
          "a process and its kill take seconds; it always runs with one kill each before, during"
              + " and after an outage of Kafka")
  void answeredCalls_nodeKilledTwiceBeforeAndDuringAnOutage_areAllInKafkaInOrder()
      throws Exception {
    killAgainAndAgain(2, 2);
  }

  private void killAgainAndAgain(int before, int during) throws Exception {
    List<String> answered = new ArrayList<>();
    Path folder = temp.resolve("journal");
    try (TestKafka kafka = TestKafka.start()) {
      CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
      for (int i = 0; i < before; i++) {
        answered.addAll(runAndKill(kafka, folder, "before" + i));
      }
      kafka.stop();
      for (int i = 0; i < during; i++) {
        answered.addAll(runAndKill(kafka, folder, "during" + i));
      }
      kafka.restart();
      answered.addAll(runAndKill(kafka, folder, "after"));
      drain(kafka, folder);

      List<CallsTopicReader.Batch> batches = CallsTopicReader.read(kafka.bootstrapServers());
      Map<String, String> idsByPosition = assertInOrderAndIdentical(batches);
      assertEquals((before + during + 1) * CALLS_A_ROUND, answered.size());
      for (String each : answered) {
        String[] positionAndId = each.split(" ", 2);
        assertEquals(
            positionAndId[1],
            idsByPosition.get(positionAndId[0]),
            () -> "the call answered with position " + positionAndId[0]);
      }
    }
  }

  private static List<String> runAndKill(TestKafka kafka, Path folder, String prefix)
      throws IOException, InterruptedException {
    Process child =
        new ProcessBuilder(
                ChildJvm.command(
                    "256m",
                    JournalChild.class,
                    kafka.bootstrapServers(),
                    folder.toString(),
                    prefix))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    List<String> answered = new ArrayList<>();
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
      while (answered.size() < CALLS_A_ROUND) {
        String line = lines.readLine();
        assertTrue(line != null, "the child ended by itself");
        if (line != null && line.contains(":killed:")) {
          answered.add(line);
        }
      }
    } finally {
      child.destroyForcibly();
      child.waitFor();
    }
    return answered;
  }

  private static void drain(TestKafka kafka, Path folder) {
    RecordConfig config =
        RecordConfig.builder("killed", KafkaConnection.to(kafka.bootstrapServers()), folder)
            .drainTimeout(Await.TIMEOUT)
            .build();
    KafkaCallLog log = KafkaCallLog.open(config, DecisionClock.ofSystem());
    log.close();
    assertEquals(0, log.statistics().heldLines());
    assertEquals(
        log.statistics().foundLines.count() + log.statistics().appendedLines.count(),
        log.statistics().ackedLines.count());
  }

  /** Checks every partition, and returns the id at each position. */
  private static Map<String, String> assertInOrderAndIdentical(List<CallsTopicReader.Batch> batches)
      throws Exception {
    Map<Integer, Long> lastNumber = new HashMap<>();
    Map<Integer, Long> lines = new HashMap<>();
    Map<String, CallsTopicReader.Batch> byNumber = new HashMap<>();
    Map<String, String> idsByPosition = new HashMap<>();
    Map<Integer, Long> newestEpoch = new HashMap<>();
    int resent = 0;
    for (CallsTopicReader.Batch batch : batches) {
      BatchHeader header = batch.header();
      long last = lastNumber.getOrDefault(batch.partition(), 0L);
      if (header.isHeartbeat()) {
        if (header.departing()) {
          lastNumber.merge(batch.partition(), header.batchSequence(), Math::max);
          continue;
        }
        assertTrue(header.batchSequence() <= last, () -> "a heartbeat overtook a batch: " + batch);
        continue;
      }
      CallsTopicReader.Batch earlier =
          byNumber.putIfAbsent(batch.partition() + ":" + header.batchSequence(), batch);
      if (earlier != null) {
        assertEquals(earlier.header(), header, "a batch sent again has the same headers");
        assertArrayEquals(earlier.value(), batch.value(), "a batch sent again has the same bytes");
        resent++;
        continue;
      }
      assertEquals(last + 1, header.batchSequence(), () -> "a hole before " + batch.header());
      long epoch = header.nodeEpoch();
      long before = newestEpoch.getOrDefault(batch.partition(), epoch);
      assertTrue(epoch >= before, () -> "an older epoch than " + before + ": " + header);
      newestEpoch.put(batch.partition(), epoch);
      assertEquals(lines.getOrDefault(batch.partition(), 0L), header.linesBefore());
      assertEquals(header.count(), batch.calls().size());
      for (int i = 0; i < header.count(); i++) {
        UsagePosition position =
            new UsagePosition(
                batch.partition(), header.node(), epoch, header.linesBefore() + i + 1);
        idsByPosition.put(position.toString(), batch.calls().get(i).id());
      }
      lastNumber.put(batch.partition(), header.batchSequence());
      lines.put(batch.partition(), header.linesBefore() + header.count());
    }
    System.getLogger(KilledNodeIT.class.getName())
        .log(
            System.Logger.Level.INFO,
            "batches=" + byNumber.size() + " calls=" + idsByPosition.size() + " resent=" + resent);
    return idsByPosition;
  }
}
