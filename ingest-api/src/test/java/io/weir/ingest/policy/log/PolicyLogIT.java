// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.PolicyEditor.Outcome;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyFollower.Source;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The log of policies over a real broker: who writes it, and who follows it. */
final class PolicyLogIT {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  /** Of tests that have a broker of their own. */
  private static final String STOPS_KAFKA = "stops-kafka";

  @TempDir private Path folder;
  private final AtomicLong clock = new AtomicLong(System.currentTimeMillis());
  private TestKafka kafka;
  private PolicyEditor editor;
  private final List<PolicyFollower> followers = new ArrayList<>();

  @BeforeEach
  void start(TestInfo test) throws Exception {
    kafka = test.getTags().contains(STOPS_KAFKA) ? TestKafka.start() : TestKafka.borrow();
    createTopics();
    editor = new PolicyEditor(kafka.bootstrapServers(), "test");
  }

  private void createTopics() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
      topics.createMissing(1, Optional.empty());
    }
  }

  @AfterEach
  void stop() {
    followers.forEach(PolicyFollower::close);
    followers.clear();
    kafka.close();
  }

  @Test
  void change_isInForceOnEveryNode() throws Exception {
    first(bucket("a", 5));
    PolicyFollower one = follower("one", null);
    PolicyFollower other = follower("other", null);
    assertEquals(Set.of("a"), names(one));
    assertEquals(1, other.set().version());

    Outcome outcome =
        change(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 7), PolicyEdits.ANY_VERSION));

    assertEquals(2, outcome.after().version());
    for (PolicyFollower follower : List.of(one, other)) {
      assertTrue(follower.awaitVersion(2, PATIENCE));
      assertEquals(7, only(follower).limit().capacityTokens());
      assertEquals(2, follower.matcher().policiesVersion());
      assertEquals(Source.LOG, follower.inForce().source());
      assertNull(follower.problem());
    }
  }

  @Test
  void sameContent_isNoChange() throws Exception {
    first(bucket("a", 5));
    Outcome again =
        change(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 5), PolicyEdits.ANY_VERSION));

    assertFalse(again.isChange());
    assertEquals(1, again.after().version());
  }

  /** Policies and the clients that belong to them are in two topics. */
  @Test
  void changeOfManyKeys_takesEffectAtOnce() throws Exception {
    AppliedFile even = file("even", 30);
    AppliedFile odd = file("odd", 20);
    change(PolicyEdits.apply(even));
    PolicyFollower follower = follower("one", null);
    ExecutorService threads = Executors.newSingleThreadExecutor();
    try {
      Future<Integer> seen =
          threads.submit(
              () -> {
                Set<Long> versions = new TreeSet<>();
                while (follower.set().version() < 21) {
                  PolicyState state = follower.inForce().state();
                  versions.add(state.version());
                  String kind = state.version() % 2 == 1 ? "even" : "odd";
                  int size = kind.equals("even") ? 30 : 20;
                  assertEquals(size, state.set(clock.get()).policies().size(), kind);
                  assertEquals(size, state.set(clock.get()).clients().settings().size(), kind);
                  assertTrue(
                      state.set(clock.get()).policies().stream()
                          .allMatch(it -> it.name().startsWith(kind)));
                  assertTrue(
                      state.set(clock.get()).clients().settings().keySet().stream()
                          .allMatch(it -> it.startsWith(kind)));
                }
                return versions.size();
              });
      for (int i = 0; i < 10; i++) {
        change(PolicyEdits.apply(odd));
        change(PolicyEdits.apply(even));
      }
      assertTrue(follower.awaitVersion(21, PATIENCE));
      assertTrue(seen.get() > 1);
    } finally {
      threads.shutdownNow();
    }
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
              PolicyEditor own = new PolicyEditor(kafka.bootstrapServers(), prefix);
              List<Long> versions = new ArrayList<>();
              for (int i = 0; i < changes; i++) {
                String name = prefix + i;
                versions.add(
                    own.change(
                            prefix,
                            PATIENCE,
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
      PolicyState state = read();
      assertEquals(1 + editors * changes, state.version());
      assertEquals(editors * changes, (long) state.set(clock.get()).policies().size());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void editorThatDiesInTheMiddle_leavesNothing_andStopsNobody() throws Exception {
    first(bucket("a", 5));
    try (KafkaProducer<byte[], byte[]> dead = producer(PolicyEditor.TRANSACTIONAL_ID)) {
      dead.initTransactions();
      dead.beginTransaction();
      send(dead, entry("a", 2, 1, 1, bucket("a", 999))).get();

      change(PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), PolicyEdits.ANY_VERSION));
    }
    PolicyState state = read();
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

  @Test
  void switchOfAll_weakensEveryPolicy_andNoneIsForgotten() throws Exception {
    ObjectNode shadow = bucket("shadow", 5);
    shadow.put("mode", "shadow");
    first(bucket("enforced", 5), shadow);

    change(PolicyEdits.enforcement(PolicyMode.SHADOW, PolicyEdits.ANY_VERSION));
    assertEquals(List.of(PolicyMode.SHADOW, PolicyMode.SHADOW), modes());
    change(PolicyEdits.enforcement(PolicyMode.OFF, PolicyEdits.ANY_VERSION));
    assertEquals(List.of(PolicyMode.OFF, PolicyMode.OFF), modes());
    change(PolicyEdits.enforcement(PolicyMode.ENFORCE, PolicyEdits.ANY_VERSION));
    assertEquals(List.of(PolicyMode.ENFORCE, PolicyMode.SHADOW), modes());
  }

  private List<PolicyMode> modes() {
    return read().set(clock.get()).policies().stream().map(Policy::mode).toList();
  }

  /** By the clock of decisions; a start and a restart in between know what is in force, too. */
  @Test
  void effectiveFrom_untilThenThePolicyBeforeIsInForce() throws Exception {
    PolicyKey key = PolicyKey.ofPolicy("a");
    Instant then = Instant.ofEpochMilli(clock.get()).plus(Duration.ofHours(1));
    first(bucket("a", 5));
    change(PolicyEdits.put(key, from(then, bucket("a", 7)), 1));
    change(PolicyEdits.put(PolicyKey.ofPolicy("b"), from(then, bucket("b", 9)), 0));
    PolicyFollower follower = follower("one", null);
    assertEquals(3, follower.set().version());
    assertEquals(5, only(follower).limit().capacityTokens());
    // what replaces a policy that is not in force yet leaves the one that is
    change(PolicyEdits.put(key, from(then, bucket("a", 8)), 2));
    assertTrue(follower.awaitVersion(4, PATIENCE));
    assertEquals(5, only(follower).limit().capacityTokens());
    restart("one", null);
    assertEquals(5, only(last()).limit().capacityTokens());

    clock.set(then.toEpochMilli());
    Await.until("its time has come", () -> names(last()).equals(Set.of("a", "b")));
    assertEquals(
        List.of(8L, 9L),
        last().set().policies().stream().map(it -> it.limit().capacityTokens()).toList());
    assertEquals(4, last().set().version());
    ObjectNode wrong = bucket("c", 5).put("effective_from", "tomorrow");
    assertEquals(Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("c"), wrong, 0)));
  }

  private static ObjectNode from(Instant time, ObjectNode policy) {
    return policy.put("effective_from", time.toString());
  }

  @Test
  void file_isAppliedWhenItIsNewToTheNode_andDoesNotUndoLaterChanges() throws Exception {
    AppliedFile first = file("first", 2);
    PolicyFollower one = follower("one", first);
    assertEquals(Set.of("first-0", "first-1"), names(one));
    change(PolicyEdits.put(PolicyKey.ofPolicy("later"), bucket("later", 5), 0));
    restart("one", first);
    assertEquals(Set.of("first-0", "first-1", "later"), names(last()), "the same file again");
    follower("new", first);
    assertEquals(Set.of("first-0", "first-1", "later"), names(last()), "a node without a past");

    AppliedFile second = file("second", 1);
    restart("one", second);
    assertEquals(Set.of("second-0"), names(last()), "another file");
    restart("new", first);
    assertEquals(Set.of("second-0"), names(last()), "a node that still has the first file");
    restart("one", first);
    assertEquals(Set.of("first-0", "first-1"), names(last()), "the first file put back");
  }

  @Test
  @Tag(STOPS_KAFKA)
  void kafkaAway_startsByTheLastVersion_andFollowsWhenItIsBack() throws Exception {
    first(bucket("a", 5));
    PolicyFollower before = follower("one", null);
    assertEquals(1, before.set().version());
    before.close();
    kafka.stop();

    PolicyFollower away = follower("one", null);
    assertEquals(Source.SNAPSHOT, away.inForce().source());
    assertEquals(Set.of("a"), names(away));
    assertNotNull(away.problem());

    kafka.restart();
    Await.until("the log is followed", () -> away.inForce().source() == Source.LOG);
    change(PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0));
    assertTrue(away.awaitVersion(2, PATIENCE));
    Await.until("nothing is wrong", () -> away.problem() == null);
  }

  @Test
  @Tag(STOPS_KAFKA)
  void kafkaAway_withoutAPast_startsByTheFile_andAppliesItLater() throws Exception {
    kafka.stop();
    AppliedFile file = file("first", 2);
    PolicyFollower follower = follower("one", file);
    assertEquals(Source.FILE, follower.inForce().source());
    assertEquals(0, follower.set().version());
    assertEquals(Set.of("first-0", "first-1"), names(follower));

    kafka.restart();
    assertTrue(follower.awaitVersion(1, PATIENCE));
    assertEquals(Source.LOG, follower.inForce().source());
    assertEquals(Set.of("first-0", "first-1"), names(follower));
  }

  @Test
  @FullSuite(
      reason =
          "a node waits for 15 s; kafkaAway_withoutAPast_startsByTheFile_andAppliesItLater, which always runs, has a file",
      turn = 2)
  void nothingPublished_andNoFile_doesNotStart() {
    PolicyFollower.NoPoliciesException none =
        assertThrows(PolicyFollower.NoPoliciesException.class, () -> follower("one", null));
    assertTrue(String.valueOf(none.getMessage()).contains("weir policies apply"));
  }

  @Test
  void topicsMissing_isSaid_andTheFileDecides() throws Exception {
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    PolicyFollower follower = follower("one", file("first", 1));
    assertEquals(Source.FILE, follower.inForce().source());
    assertTrue(String.valueOf(follower.problem()).contains("weir topics create"));

    createTopics();
    assertTrue(follower.awaitVersion(1, PATIENCE));
  }

  /** What was published must not stop being in force because the topics were deleted. */
  @Test
  void topicsDeletedAndCreated_theNodeKeepsItsPolicies_untilSomethingIsPublished()
      throws Exception {
    first(bucket("a", 5));
    change(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 6), 1));
    follower("one", null);
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", null);
    assertEquals(Set.of("a"), names(last()));
    assertEquals(2, last().set().version());

    first(bucket("b", 5));
    Await.until("the new log is in force", () -> names(last()).equals(Set.of("b")));
  }

  @Test
  void contentOfANewerRelease_isNotDecidedBy_untilItIsReplaced() throws Exception {
    first(bucket("a", 5));
    PolicyFollower follower = follower("one", null);
    ObjectNode unknown = bucket("a", 6);
    unknown.put("from_the_future", true);
    write(entry("a", 2, 1, 1, unknown));
    Await.until("it is told", () -> follower.problem() != null);
    assertTrue(String.valueOf(follower.problem()).contains("from_the_future"));
    assertEquals(5, only(follower).limit().capacityTokens());
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0)));

    write(entry("a", 3, 1, 1, bucket("a", 7)));
    assertTrue(follower.awaitVersion(3, PATIENCE));
    assertEquals(7, only(follower).limit().capacityTokens());
    assertNull(read("later").refusal());
  }

  /** Compaction removes entries of older changes, and never one of the newest. */
  @Test
  void olderEntriesCompacted_theRestIsReadToTheEnd_andFollowed() throws Exception {
    write(entry("a", 1, 2, 3, bucket("a", 5)));
    write(entry("b", 4, 1, 1, bucket("b", 5)));
    JsonNode client = PolicyEntryCodec.JSON.createObjectNode().put("time_zone", "UTC");
    write(entry(PolicyKey.ofPolicy("c"), 7, 1, 1, 7, 7, bucket("c", 5)));
    write(entry(PolicyKey.ofClient("acme"), 7, 1, 1, 7, 7, client));

    PolicyFollower follower = follower("one", null);
    assertEquals(7, follower.set().version());
    assertEquals(Set.of("a", "b", "c"), names(follower));
    assertEquals(Set.of("acme"), follower.set().clients().settings().keySet());
    assertEquals(8, change(PolicyEdits.delete(PolicyKey.ofPolicy("b"), 4)).after().version());
    assertTrue(follower.awaitVersion(8, PATIENCE));
    assertEquals(Set.of("a", "c"), names(follower));
  }

  /** Was a hole: half of a change, or one limit fewer, and nothing was said. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "policy/a {",
        "policy/a {}",
        "policy/a [1]",
        "policy/a {\"version\":2,\"policy\":{}}",
        "setting/x {\"version\":2,\"part\":1,\"parts\":1,\"policies_version\":2,"
            + "\"clients_version\":0,\"changed_at_ms\":1,\"setting\":{\"value\":1}}",
        "group/x {\"version\":2,\"part\":1,\"parts\":1,\"policies_version\":2,"
            + "\"clients_version\":0,\"changed_at_ms\":1,\"group\":{}}"
      })
  void whatCannotBeRead_isNotInForce_untilAllIsPublishedAnew(String record) throws Exception {
    first(bucket("a", 5), bucket("b", 5));
    PolicyFollower follower = follower("one", null);
    boolean isOfANewerRelease = record.contains("changed_at_ms");
    int blank = record.indexOf(' ');
    try (KafkaProducer<byte[], byte[]> producer = producer(null)) {
      producer
          .send(
              new ProducerRecord<>(
                  Topics.POLICIES.name(),
                  bytes(record.substring(0, blank)),
                  bytes(record.substring(blank + 1))))
          .get();
    }
    Await.until("it is told", () -> follower.problem() != null);
    assertEquals(Set.of("a", "b"), names(follower));
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("c"), bucket("c", 5), 0)));
    try (PolicyLogReader reader = read("fresh")) {
      assertNotNull(reader.refusal());
      assertEquals(0, reader.state().version());
    }
    Outcome whole = first(bucket("a", 7));
    // the number of a record that cannot be read is not given again
    assertEquals(isOfANewerRelease || record.contains("version") ? 3 : 2, whole.after().version());
    assertTrue(follower.awaitVersion(whole.after().version(), PATIENCE));
    Await.until("nothing is wrong", () -> follower.problem() == null);
    assertEquals(Set.of("a"), names(follower));
    assertNull(read("again").refusal());
  }

  /** Was a hole: each took the next number, and the log was not whole for anybody. */
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
        PolicyEditor own = new PolicyEditor(kafka.bootstrapServers(), "editor" + i);
        made.add(threads.submit(() -> own.change("x", PATIENCE, PolicyEdits.apply(file))));
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

  /** Was a hole: until its later limit was in force, a policy that was restored had none. */
  @Test
  @FullSuite(
      reason =
          "as allTopicsLost_aNodeWithAFilePublishesWhatWasPublished, which always runs; a deletion"
              + " takes seconds",
      turn = 2)
  void topicsLost_whatIsRestoredOfALaterPolicyIsInForceUntilThen() throws Exception {
    AppliedFile file = file("first", 1);
    follower("one", file);
    Instant then = Instant.ofEpochMilli(clock.get()).plus(Duration.ofHours(1));
    change(PolicyEdits.put(PolicyKey.ofPolicy("first-0"), from(then, bucket("first-0", 9)), 1));
    assertTrue(last().awaitVersion(2, PATIENCE));
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", file);
    Await.until("it is published", () -> last().inForce().source() == Source.LOG);
    assertEquals(3, last().set().version(), "versions go on");
    assertEquals(5, only(last()).limit().capacityTokens());
    clock.set(then.toEpochMilli());
    Await.until("its time has come", () -> only(last()).limit().capacityTokens() == 9);
  }

  /** Was a hole: with less than five seconds left no try was made. */
  @Test
  void littlePatience_isEnoughWhenKafkaAnswers() throws Exception {
    first(bucket("a", 5));
    assertTrue(
        editor
            .change(
                "x",
                Duration.ofMillis(4_500),
                PolicyEdits.put(PolicyKey.ofPolicy("b"), bucket("b", 5), 0))
            .isChange());
  }

  /** Was a hole: a node ran without limits, and said that all was well. */
  @Test
  void policiesTopicDeletedAndCreated_isToldAndNothingChanges_untilAllIsPublishedAnew()
      throws Exception {
    assertToldAndNothingChanges(Topics.POLICIES.name());
  }

  @Test
  @FullSuite(
      reason = "as the topic of policies, which always runs; a deletion takes seconds",
      turn = 1)
  void clientsTopicDeletedAndCreated_isToldAndNothingChanges_untilAllIsPublishedAnew()
      throws Exception {
    assertToldAndNothingChanges(Topics.CLIENTS.name());
  }

  private void assertToldAndNothingChanges(String topic) throws Exception {
    change(PolicyEdits.apply(file("all", 2)));
    follower("one", null);
    deleteTopics(List.of(topic));
    createTopics();
    Await.until("the running node tells it", () -> last().problem() != null);
    restart("one", null);
    assertEquals(Set.of("all-0", "all-1"), names(last()));
    assertEquals(2, last().set().clients().settings().size());
    Await.until(
        "it is told", () -> String.valueOf(last().problem()).contains(topic + " lacks version 1"));
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("c"), bucket("c", 5), 0)));

    Outcome whole = change(PolicyEdits.apply(file("new", 1)));
    assertEquals(2, whole.after().version());
    assertTrue(last().awaitVersion(2, PATIENCE));
    assertEquals(Set.of("new-0"), names(last()));
    assertEquals(Set.of("new-0"), last().set().clients().settings().keySet());
    Await.until("nothing is wrong", () -> last().problem() == null);
  }

  /** Was a hole: whoever published something small where all was lost made it all there was. */
  @Test
  void nothingPublished_onlyAWholeFileIsTheFirst() throws Exception {
    assertEquals(
        Reason.INVALID, reason(PolicyEdits.put(PolicyKey.ofPolicy("a"), bucket("a", 5), 0)));
    assertEquals(
        Reason.INVALID,
        reason(PolicyEdits.enforcement(PolicyMode.SHADOW, PolicyEdits.ANY_VERSION)));
    assertEquals(1, first(bucket("a", 5)).after().version());
  }

  /** Was a hole: its file, which may be older than what was published, replaced everything. */
  @Test
  void allTopicsLost_aNodeWithAFilePublishesWhatWasPublished() throws Exception {
    AppliedFile file = file("first", 1);
    follower("one", file);
    change(PolicyEdits.put(PolicyKey.ofPolicy("emergency"), bucket("emergency", 1), 0));
    assertTrue(last().awaitVersion(2, PATIENCE));
    deleteTopics(List.of(Topics.POLICIES.name(), Topics.CLIENTS.name()));
    createTopics();
    restart("one", file);
    Await.until("it is published", () -> last().inForce().source() == Source.LOG);
    assertEquals(Set.of("first-0", "emergency"), names(last()));
    assertEquals(Set.of("first-0", "emergency"), policies(read()));
  }

  private static Set<String> policies(PolicyState state) {
    return state.policyEntries().stream().map(it -> it.key().name()).collect(Collectors.toSet());
  }

  private void deleteTopics(List<String> topics) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin.deleteTopics(topics).all().get();
    }
  }

  /** Was a hole: a node said that all was well for as long as Kafka was away. */
  @Test
  @Tag(STOPS_KAFKA)
  void kafkaAwayWhileFollowing_isTold_andTheEndOfItToo() throws Exception {
    first(bucket("a", 5));
    PolicyFollower follower = follower("one", null);
    assertTrue(follower.health().ok());
    kafka.stop();
    Await.until("it is told", () -> !follower.health().ok());
    assertEquals(Set.of("a"), names(follower));
    kafka.restart();
    Await.until("nothing is wrong", () -> follower.health().ok());
  }

  /** Was a hole: a rollout of a file took back what was changed while it went on. */
  @Test
  void fileRolledOut_whatIsChangedMeanwhileStays() throws Exception {
    AppliedFile old = file("old", 1);
    AppliedFile next = file("next", 1);
    follower("one", old);
    follower("two", old);
    restart("one", next);
    assertEquals(Set.of("next-0"), names(last()));
    change(PolicyEdits.put(PolicyKey.ofPolicy("emergency"), bucket("emergency", 1), 0));
    restart("two", next);
    assertEquals(Set.of("next-0", "emergency"), names(last()));
    restart("two", old);
    assertEquals(Set.of("old-0"), names(last()), "put back on purpose");
  }

  /** Was a hole: one's own change, whose answer was lost, was told as somebody else's. */
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
        new PolicyEditor(kafka.bootstrapServers(), "other").change("x", PATIENCE, lost);
    assertEquals(2, tries.get());
    assertEquals(3, outcome.after().version());
    assertEquals(Set.of("a", "b", "c"), policies(read()));
  }

  /** Was a hole: editors at once fenced each other off until their time was over. */
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

  /** Was a hole: a change waited for Kafka without end, whatever its patience. */
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

  /** Publishes the first version. */
  private Outcome first(ObjectNode... policies) throws RefusedException {
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    tree.putArray("policies").addAll(List.of(policies));
    return change(PolicyEdits.apply(AppliedFile.of("first.yml", tree)));
  }

  private Outcome change(PolicyEditor.Change change) throws RefusedException {
    return editor.change("the test", PATIENCE, change);
  }

  private Reason reason(PolicyEditor.Change change) {
    return assertThrows(RefusedException.class, () -> change(change)).reason();
  }

  private PolicyState read() {
    try (PolicyLogReader reader = read("read")) {
      return reader.state();
    }
  }

  private PolicyLogReader read(String name) {
    PolicyLogReader reader = PolicyLogReader.open(kafka.bootstrapServers(), name);
    reader.readToEnd(PATIENCE);
    return reader;
  }

  private PolicyFollower follower(String node, @Nullable AppliedFile file) {
    PolicyFollower follower =
        PolicyFollower.start(
            kafka.bootstrapServers(),
            node,
            folder.resolve(node),
            file,
            clock::get,
            new SimpleMeterRegistry());
    follower.settleFile(PATIENCE);
    followers.add(follower);
    return follower;
  }

  private void restart(String node, @Nullable AppliedFile file) {
    followers.forEach(PolicyFollower::close);
    followers.clear();
    follower(node, file);
  }

  private PolicyFollower last() {
    return followers.get(followers.size() - 1);
  }

  private static Set<String> names(PolicyFollower follower) {
    return follower.set().policies().stream().map(Policy::name).collect(Collectors.toSet());
  }

  private static Policy only(PolicyFollower follower) {
    assertEquals(1, follower.set().policies().size());
    return follower.set().policies().get(0);
  }

  private static ObjectNode bucket(String name, long capacity) {
    ObjectNode policy = PolicyEntryCodec.JSON.createObjectNode();
    policy.put("name", name);
    policy
        .putObject("limit")
        .put("algorithm", "token-bucket")
        .put("capacity", capacity)
        .put("refill_tokens", 1)
        .put("refill_period", "PT1H");
    return policy;
  }

  private static AppliedFile file(String prefix, int size) {
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    for (int i = 0; i < size; i++) {
      String name = prefix + "-" + i;
      tree.withArray("policies").add(bucket(name, 5));
      tree.withObject("/clients").putObject(name).put("time_zone", "Europe/Paris");
    }
    JsonNode read = ((PolicyFile.Content.Valid) PolicyFile.parse(PolicyFile.yaml(tree))).tree();
    return AppliedFile.of(prefix + ".yml", read);
  }

  /** The entry of a change of policies alone. */
  private static PolicyEntry entry(
      String name, long version, int part, int parts, JsonNode content) {
    return entry(PolicyKey.ofPolicy(name), version, part, parts, version, 0, content);
  }

  private static PolicyEntry entry(
      PolicyKey key,
      long version,
      int part,
      int parts,
      long policiesVersion,
      long clientsVersion,
      JsonNode content) {
    return new PolicyEntry(
        key,
        new PolicyEntry.Change(
            version,
            part,
            parts,
            policiesVersion,
            clientsVersion,
            1_000,
            "the test",
            "id" + version),
        version,
        content,
        null);
  }

  private void write(PolicyEntry entry) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer(null)) {
      send(producer, entry).get();
    }
  }

  private static Future<RecordMetadata> send(
      KafkaProducer<byte[], byte[]> producer, PolicyEntry entry) {
    return producer.send(
        new ProducerRecord<>(
            entry.key().partition().topic(),
            bytes(entry.key().recordKey()),
            PolicyEntryCodec.encode(entry)));
  }

  private KafkaProducer<byte[], byte[]> producer(@Nullable String transactionalId) {
    Map<String, Object> settings =
        transactionalId == null
            ? Map.of("bootstrap.servers", kafka.bootstrapServers())
            : Map.of(
                "bootstrap.servers", kafka.bootstrapServers(), "transactional.id", transactionalId);
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
