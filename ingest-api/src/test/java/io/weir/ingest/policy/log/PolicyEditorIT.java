// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEditor.Outcome;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.PolicyMode;
import io.weir.servers.EmbeddedKafka;
import io.weir.servers.KafkaNode;
import io.weir.servers.Ports;
import io.weir.testing.CoreSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes to the policy log, with a real broker. */
@CoreSuite
final class PolicyEditorIT extends PolicyLogFixture {
  @Test
  void sameContent_isNoChange() throws Exception {
    first(bucket("a", 5));
    Outcome again =
        change(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 5), PolicyEdits.ANY_VERSION));

    assertFalse(again.isChange());
    assertEquals(1, again.after().version());
  }

  @Test
  void editorsAtOnce_everyChangeIsMade_oneAfterTheOther() throws Exception {
    first();
    int editors = 4;
    long changes = 5;
    ExecutorService threads = Executors.newFixedThreadPool(editors);
    try {
      List<Future<List<Long>>> made = new ArrayList<>();
      for (int each = 0; each < editors; each++) {
        String prefix = "p" + each + "-";
        Callable<List<Long>> work =
            () -> {
              PolicyEditor own =
                  new PolicyEditor(KafkaConnection.to(kafka.bootstrapServers()), prefix);
              List<Long> versions = new ArrayList<>();
              for (int i = 0; i < changes; i++) {
                String name = prefix + i;
                versions.add(
                    own.change(
                            prefix,
                            TIMEOUT,
                            PolicyEdits.put(PolicyKey.ofPolicy(name), bucket(name, 5), 0))
                        .after()
                        .version());
              }
              return versions;
            };
        made.add(threads.submit(work));
      }
      Set<Long> versions = new TreeSet<>();
      for (Future<List<Long>> each : made) {
        versions.addAll(each.get());
      }
      assertEquals(editors * changes, (long) versions.size());
      PolicyLogState state = read();
      assertEquals(1 + editors * changes, state.version());
      assertEquals(editors * changes, (long) state.set(clock.get()).policies().size());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void editorThatDies_leavesNothing_andBlocksNoEditor() throws Exception {
    first(bucket("a", 5));
    try (KafkaProducer<byte[], byte[]> dead = producer(PolicyEditor.TRANSACTIONAL_ID)) {
      dead.initTransactions();
      dead.beginTransaction();
      send(dead, entry("a", 2, 1, bucket("a", 999))).get();

      change(PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), PolicyEdits.ANY_VERSION));
    }
    PolicyLogState state = read();
    assertEquals(2, state.version());
    assertEquals(
        List.of(5L, 5L),
        state.set(clock.get()).policies().stream().map(it -> it.limit().capacityTokens()).toList());
  }

  @Test
  void invalidPolicies_areRefusedAsAWhole_withEveryProblem() throws Exception {
    ObjectNode wrong = bucket("wrong", 5);
    wrong.put("mode", "sometimes");
    ObjectNode limit = (ObjectNode) wrong.path("limit");
    limit.put("capacity", 0);
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    tree.putArray("policies").add(bucket("right", 5)).add(wrong);

    RefusedException refused =
        assertThrows(
            RefusedException.class,
            () -> change(PolicyEdits.apply(AppliedFile.of("wrong.yml", tree))));

    assertEquals(Reason.INVALID, refused.reason());
    assertEquals(2, refused.problems().size(), refused.getMessage());
    assertTrue(String.valueOf(refused.getMessage()).contains("policies['wrong'].limit.capacity"));
    assertTrue(String.valueOf(refused.getMessage()).contains("policies['wrong'].mode"));
    assertEquals(0, read().version());
  }

  @Test
  void changedSince_andMissing_areRefused() throws Exception {
    PolicyKey key = PolicyKey.ofPolicy("a");
    first(bucket("a", 5));
    change(PolicyEdits.put(key, bucket("a", 6), 1));

    assertEquals(Reason.CHANGED_SINCE, reason(PolicyEdits.put(key, bucket("a", 7), 1)));
    assertEquals(Reason.CHANGED_SINCE, reason(PolicyEdits.put(key, bucket("a", 7), 0)));
    assertEquals(Reason.CHANGED_SINCE, reason(PolicyEdits.delete(key, 1)));
    assertEquals(
        Reason.NOT_FOUND,
        reason(PolicyEdits.delete(PolicyKey.ofPolicy("b"), PolicyEdits.ANY_VERSION)));
    change(PolicyEdits.delete(key, 2));
    assertEquals(0, read().set(clock.get()).policies().size());
    assertEquals(4, change(PolicyEdits.put(key, bucket("a", 8), 0)).after().version());
  }

  /**
   * Regression: concurrent editors took the same next number, and no reader found the log complete.
   */
  @Test
  void wholeFilesAtOnce_whereTheLogCannotBeRead_areBothPublished_andTheSwitchStays()
      throws Exception {
    first(bucket("a", 5));
    change(PolicyEdits.enforcement(PolicyMode.SHADOW, PolicyEdits.ANY_VERSION));
    try (KafkaProducer<byte[], byte[]> producer = producer(null)) {
      producer
          .send(new ProducerRecord<>(Topics.POLICIES.name(), bytes("policy/a"), bytes("{")))
          .get();
    }
    int editors = 3;
    ExecutorService threads = Executors.newFixedThreadPool(editors);
    try {
      List<Future<Outcome>> made = new ArrayList<>();
      for (int i = 0; i < editors; i++) {
        AppliedFile file = file("file" + i, i + 1);
        PolicyEditor own =
            new PolicyEditor(KafkaConnection.to(kafka.bootstrapServers()), "editor" + i);
        made.add(threads.submit(() -> own.change("x", TIMEOUT, PolicyEdits.apply(file))));
      }
      Set<Long> versions = new TreeSet<>();
      for (Future<Outcome> each : made) {
        versions.add(each.get().after().version());
      }
      assertEquals(Set.of(3L, 4L, 5L), versions);
    } finally {
      threads.shutdownNow();
    }
    try (PolicyLogReader reader = read("fresh")) {
      assertNull(reader.refusal());
      assertEquals(5, reader.state().version());
      assertEquals(PolicyMode.SHADOW, reader.state().enforcement());
      assertEquals(reader.state().policyEntries().size(), reader.state().clientEntries().size());
    }
  }

  /** Regression: with less than five seconds left no attempt was made. */
  @Test
  void shortTimeout_isEnoughIfKafkaReplies() throws Exception {
    first(bucket("a", 5));
    assertTrue(
        editor
            .change(
                "x",
                Duration.ofMillis(4_500),
                PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0))
            .isChange());
  }

  /**
   * Regression: after a loss of everything, publishing one small change made it the whole policy
   * set.
   */
  @Test
  void nothingPublished_onlyAWholeFileIsTheFirst() throws Exception {
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 5), 0)));
    assertEquals(
        Reason.INVALID,
        reason(PolicyEdits.enforcement(PolicyMode.SHADOW, PolicyEdits.ANY_VERSION)));
    assertEquals(1, first(bucket("a", 5)).after().version());
  }

  /**
   * Regression: an editor's own change, whose answer was lost, was reported as another editor's.
   */
  @Test
  void changeThatWasMadeThoughItsAnswerWasLost_isRecognizedByItsId() throws Exception {
    first(bucket("a", 5));
    AtomicInteger tries = new AtomicInteger();
    PolicyEditor.Change lost =
        state -> {
          if (tries.incrementAndGet() == 1) {
            // fences the first try off before it can commit
            change(PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0));
          }
          return PolicyEdits.put(PolicyKey.ofPolicy("c"), bucket("c", 5), 0).on(state);
        };
    Outcome outcome =
        new PolicyEditor(KafkaConnection.to(kafka.bootstrapServers()), "other")
            .change("x", TIMEOUT, lost);
    assertEquals(2, tries.get());
    assertEquals(3, outcome.after().version());
    assertEquals(Set.of("a", "b", "c"), policies(read()));
  }

  /** Regression: concurrent editors fenced each other off until they timed out. */
  @Test
  void manyChangesAtOnceOfOneNode_areAllMade() throws Exception {
    first();
    int changes = 8;
    ExecutorService threads = Executors.newFixedThreadPool(changes);
    try {
      List<Future<Outcome>> made = new ArrayList<>();
      for (int i = 0; i < changes; i++) {
        String name = "p" + i;
        made.add(
            threads.submit(
                () -> change(PolicyEdits.put(PolicyKey.ofPolicy(name), bucket(name, 5), 0))));
      }
      Set<Long> versions = new TreeSet<>();
      for (Future<Outcome> each : made) {
        versions.add(each.get().after().version());
      }
      assertEquals(changes, versions.size());
      assertEquals(changes + 1, read().version());
    } finally {
      threads.shutdownNow();
    }
  }

  /** Regression: the editor retried until its timeout, and did not say what to change. */
  @Test
  void brokerWithShortTransactions_isReported_unlessTheChangeIsShort(@TempDir Path own)
      throws Exception {
    int port = Ports.free();
    KafkaNode node =
        new KafkaNode(
            1,
            Uuid.randomUuid().toString(),
            List.of(Ports.freeForController()),
            List.of(new KafkaNode.Listener("PLAINTEXT", port, port)));
    try (EmbeddedKafka strict =
        EmbeddedKafka.start(own, node, Map.of("transaction.max.timeout.ms", "30000"))) {
      KafkaConnection connection = KafkaConnection.to(strict.bootstrapServers());
      try (TopicAdmin topics = TopicAdmin.connect(connection)) {
        topics.createMissing(1, Optional.empty());
      }
      PolicyEditor other = new PolicyEditor(connection, "strict");
      PolicyEditor.Change first = PolicyEdits.apply(file("p", 1));

      RefusedException refused =
          assertThrows(RefusedException.class, () -> other.change("x", Duration.ofDays(1), first));
      assertEquals(
          List.of(
              "Kafka at "
                  + connection
                  + " (WEIR_KAFKA): the broker's transaction.max.timeout.ms is too low; set it to"
                  + " at least 30000"),
          refused.problems());
      assertTrue(other.change("x", Duration.ofSeconds(30), first).isChange());
    }
  }

  /** Regression: a change waited for Kafka without end, whatever its timeout. */
  @Test
  @Tag(STOPS_KAFKA)
  void kafkaGoneInTheMiddleOfAChange_theChangeEnds() throws Exception {
    first(bucket("a", 5));
    PolicyEditor.Change stopping =
        state -> {
          kafka.stop();
          return PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0).on(state);
        };
    RefusedException refused =
        assertThrows(
            RefusedException.class, () -> editor.change("x", Duration.ofSeconds(3), stopping));
    assertEquals(Reason.UNAVAILABLE, refused.reason());
  }
}
