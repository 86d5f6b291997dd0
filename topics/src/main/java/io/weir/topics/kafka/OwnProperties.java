// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.jspecify.annotations.Nullable;

/**
 * The properties of Kafka's clients that Weir sets itself, and why. Every property that a client of
 * Weir is given is among them or among the defaults, so that none of an operator is silently left
 * out. Stateless and thread-safe.
 */
final class OwnProperties {
  /** Those that Streams adds to a property that is for some of its clients or topics only. */
  private static final List<String> PREFIXES =
      List.of(
          "main.consumer.",
          "restore.consumer.",
          "global.consumer.",
          "consumer.",
          "producer.",
          "admin.",
          "topic.");

  /** How a client reaches Kafka, which changes nothing that is read or written. */
  private static final List<String> OPEN_PREFIXES =
      List.of(
          "security.",
          "sasl.",
          "ssl.",
          "client.dns.lookup",
          "client.rack",
          "config.providers",
          "connections.max.idle.ms",
          "metadata.recovery.",
          "metric.reporters",
          "metrics.",
          "receive.buffer.bytes",
          "reconnect.backoff.ms",
          "send.buffer.bytes",
          "socket.connection.setup.timeout");

  private static final Set<String> OF_KAFKA = ofKafka();

  private static final Map<String, String> REASONS = reasons();

  /** Those that Weir sets and an operator may change: nothing depends on them but resources. */
  private static final Set<String> DEFAULTS =
      Set.of(
          "compression.type",
          "metadata.max.age.ms",
          "reconnect.backoff.max.ms",
          "retry.backoff.max.ms",
          "enable.metrics.push");

  private OwnProperties() {}

  private static Set<String> ofKafka() {
    Set<String> names = new HashSet<>(ProducerConfig.configNames());
    names.addAll(ConsumerConfig.configNames());
    names.addAll(AdminClientConfig.configNames());
    return Set.copyOf(names);
  }

  private static Map<String, String> reasons() {
    Map<String, String> reasons = new HashMap<>();
    reasons.put("bootstrap.servers", "WEIR_KAFKA has the addresses");
    add(
        reasons,
        "an acknowledged record must survive, and be written once",
        "acks",
        "delivery.timeout.ms",
        "enable.idempotence",
        "max.in.flight.requests.per.connection",
        "partitioner.class",
        "retries",
        "transaction.timeout.ms",
        "transaction.two.phase.commit.enable",
        "transactional.id");
    add(
        reasons,
        "only committed records are counted, each once",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "enable.auto.commit",
        "isolation.level");
    add(
        reasons,
        "every process has its part of the partitions by it",
        "application.id",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "partition.assignment.strategy",
        "partition.grouper");
    add(
        reasons,
        "how long a call, a start or a stop may wait depends on it",
        "default.api.timeout.ms",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.block.ms",
        "max.poll.interval.ms",
        "request.timeout.ms",
        "task.timeout.ms");
    add(
        reasons,
        "the memory of a process is bounded by it",
        "batch.size",
        "buffer.memory",
        "buffered.records.per.partition",
        "cache.max.bytes.buffering",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "max.partition.fetch.bytes",
        "max.poll.records",
        "max.request.size",
        "rocksdb.config.setter",
        "statestore.cache.max.bytes");
    add(
        reasons,
        "records have one form",
        "default.key.serde",
        "default.value.serde",
        "key.deserializer",
        "key.serializer",
        "message.timestamp.after.max.ms",
        "value.deserializer",
        "value.serializer");
    add(
        reasons,
        "topics are created by 'weir topics create', and with enough copies",
        "allow.auto.create.topics",
        "max.compaction.lag.ms",
        "min.insync.replicas",
        "replication.factor");
    add(
        reasons,
        "the counting is exact by it",
        "commit.interval.ms",
        "default.deserialization.exception.handler",
        "default.production.exception.handler",
        "deserialization.exception.handler",
        "ensure.explicit.internal.resource.naming",
        "processing.exception.handler",
        "processing.guarantee",
        "production.exception.handler",
        "default.timestamp.extractor",
        "check.crcs",
        "errors.dead.letter.queue.topic.name",
        "interceptor.classes",
        "max.task.idle.ms",
        "processor.wrapper.class",
        "topology.optimization",
        "upgrade.from");
    add(
        reasons,
        "partitions move between aggregators by it",
        "acceptable.recovery.lag",
        "task.assignor.class",
        "rack.aware.assignment.strategy",
        "rack.aware.assignment.tags",
        "max.warmup.replicas",
        "probing.rebalance.interval.ms");
    reasons.put("client.id", "clients are named after their process: WEIR_NODE, WEIR_INSTANCE");
    reasons.put("session.timeout.ms", "WEIR_SESSION_TIMEOUT has it");
    reasons.put("state.dir", "WEIR_DATA has the folder");
    reasons.put("num.stream.threads", "WEIR_STREAM_THREADS has it");
    reasons.put("num.standby.replicas", "WEIR_STANDBYS has it");
    reasons.put("application.server", "WEIR_ADVERTISED_REPORTS has it");
    return Map.copyOf(reasons);
  }

  private static void add(Map<String, String> reasons, String why, String... names) {
    for (String name : names) {
      reasons.put(name, why);
    }
  }

  /** Returns why an operator cannot set a property; null if it can be set. */
  static @Nullable String reason(String name) {
    String plain = plain(name);
    if (!plain.equals(name)) {
      return "it is for some clients only; give " + plain + ", which is for all";
    }
    String reason = REASONS.get(name);
    return reason == null && !isOpen(name)
        ? "it is none of those that may be set (docs/operate/install.md, access to Kafka)"
        : reason;
  }

  /**
   * Returns whether an operator may set a property: one of how a client reaches Kafka, one of the
   * defaults, or one that no client of Kafka itself knows, as those of a plug-in.
   */
  private static boolean isOpen(String name) {
    return DEFAULTS.contains(name)
        || OPEN_PREFIXES.stream().anyMatch(name::startsWith)
        || !(OF_KAFKA.contains(name) || name.startsWith("_") || name.startsWith("internal."));
  }

  /** Returns whether an operator's value takes precedence over Weir's. */
  static boolean isDefault(String name) {
    return DEFAULTS.contains(plain(name));
  }

  /** Returns the name of a property without what says for which clients it is. */
  static String plain(String name) {
    for (String prefix : PREFIXES) {
      if (name.startsWith(prefix)) {
        return name.substring(prefix.length());
      }
    }
    return name;
  }

  /**
   * Requires a property that Weir sets to be told here.
   *
   * @throws IllegalArgumentException if an operator's value would be left out without a word
   */
  static void requireKnown(String name) {
    if (!REASONS.containsKey(plain(name)) && !isDefault(name)) {
      throw new IllegalArgumentException("not among Weir's own properties of Kafka: " + name);
    }
  }
}
