// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.PolicyEditor.Outcome;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.Policy;
import io.weir.servers.testing.TestKafka;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
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
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;

/** The common fixture of the tests of the policy log: a broker, an editor, and followers. */
abstract class PolicyLogFixture {
  static final Duration TIMEOUT = Duration.ofMinutes(2);

  /** Tag of tests that have their own broker. */
  static final String STOPS_KAFKA = "stops-kafka";

  @TempDir private Path folder;
  final AtomicLong clock = new AtomicLong(System.currentTimeMillis());
  TestKafka kafka;
  PolicyEditor editor;
  final List<PolicyFollower> followers = new ArrayList<>();

  @BeforeEach
  void start(TestInfo test) throws Exception {
    kafka = test.getTags().contains(STOPS_KAFKA) ? TestKafka.start() : TestKafka.borrow();
    createTopics();
    editor = new PolicyEditor(KafkaConnection.to(kafka.bootstrapServers()), "test");
  }

  void createTopics() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
  }

  @AfterEach
  void stop() {
    followers.forEach(PolicyFollower::close);
    followers.clear();
    kafka.close();
  }

  static Set<String> policies(PolicyLogState state) {
    return state.policyEntries().stream().map(it -> it.key().name()).collect(Collectors.toSet());
  }

  void deleteTopics(List<String> topics) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin.deleteTopics(topics).all().get();
    }
  }

  /** Publishes the first version. */
  Outcome first(ObjectNode... policies) throws RefusedException {
    ObjectNode tree = PolicyEntryCodec.JSON.createObjectNode();
    tree.putArray("policies").addAll(List.of(policies));
    return change(PolicyEdits.apply(AppliedFile.of("first.yml", tree)));
  }

  Outcome change(PolicyEditor.Change change) throws RefusedException {
    return editor.change("the test", TIMEOUT, change);
  }

  Reason reason(PolicyEditor.Change change) {
    return assertThrows(RefusedException.class, () -> change(change)).reason();
  }

  PolicyLogState read() {
    try (PolicyLogReader reader = read("read")) {
      return reader.state();
    }
  }

  PolicyLogReader read(String name) {
    PolicyLogReader reader =
        PolicyLogReader.open(KafkaConnection.to(kafka.bootstrapServers()), name);
    reader.readToEnd(TIMEOUT);
    return reader;
  }

  PolicyFollower follower(String node, @Nullable AppliedFile file) {
    PolicyFollower follower =
        PolicyFollower.start(
            KafkaConnection.to(kafka.bootstrapServers()),
            node,
            folder.resolve(node),
            file,
            clock::get,
            new SimpleMeterRegistry());
    follower.settleFile(TIMEOUT);
    followers.add(follower);
    return follower;
  }

  void restart(String node, @Nullable AppliedFile file) {
    followers.forEach(PolicyFollower::close);
    followers.clear();
    follower(node, file);
  }

  PolicyFollower last() {
    return followers.get(followers.size() - 1);
  }

  static Set<String> names(PolicyFollower follower) {
    return follower.set().policies().stream().map(Policy::name).collect(Collectors.toSet());
  }

  static Policy only(PolicyFollower follower) {
    assertEquals(1, follower.set().policies().size());
    return follower.set().policies().get(0);
  }

  static ObjectNode bucket(String name, long capacity) {
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

  static AppliedFile file(String prefix, int size) {
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
  static PolicyEntry entry(String name, long version, int parts, JsonNode content) {
    return entry(PolicyKey.ofPolicy(name), version, parts, version, 0, content);
  }

  static PolicyEntry entry(
      PolicyKey key,
      long version,
      int parts,
      long policiesVersion,
      long clientsVersion,
      JsonNode content) {
    return new PolicyEntry(
        key,
        new PolicyEntry.Change(
            version, parts, policiesVersion, clientsVersion, 1_000, "the test", "id" + version),
        version,
        content,
        null);
  }

  void write(PolicyEntry entry) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer(null)) {
      send(producer, entry).get();
    }
  }

  static Future<RecordMetadata> send(KafkaProducer<byte[], byte[]> producer, PolicyEntry entry) {
    return producer.send(
        new ProducerRecord<>(
            entry.key().partition().topic(),
            bytes(entry.key().recordKey()),
            PolicyEntryCodec.encode(entry)));
  }

  KafkaProducer<byte[], byte[]> producer(@Nullable String transactionalId) {
    Map<String, Object> settings =
        transactionalId == null
            ? Map.of("bootstrap.servers", kafka.bootstrapServers())
            : Map.of(
                "bootstrap.servers", kafka.bootstrapServers(), "transactional.id", transactionalId);
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
