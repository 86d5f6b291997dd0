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
 * The properties of Kafka's clients that only Weir may set, with the reasons. The list contains
 * every property that Weir sets, except for the defaults. Weir therefore rejects an operator's
 * value for a listed property instead of ignoring the value. Stateless and thread-safe.
 */
final class OwnProperties {
  /** Prefixes by which Kafka Streams applies a property to only some of its clients or topics. */
  private static final List<String> PREFIXES =
      List.of(
          "main.consumer.",
          "restore.consumer.",
          "global.consumer.",
          "consumer.",
          "producer.",
          "admin.",
          "topic.");

  /**
   * Prefixes of properties that affect only the connection, not the records that a client reads or
   * writes.
   */
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

  /**
   * Properties that Weir sets and an operator may change, because they affect only the use of
   * resources.
   */
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
    reasons.put("bootstrap.servers", "WEIR_KAFKA sets the addresses");
    add(
        reasons,
        "acknowledged records must not be lost, and are written once",
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
        "the property assigns partitions to processes",
        "application.id",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "partition.assignment.strategy",
        "partition.grouper");
    add(
        reasons,
        "the property bounds how long a call, a start or a stop can wait",
        "default.api.timeout.ms",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.block.ms",
        "max.poll.interval.ms",
        "request.timeout.ms",
        "task.timeout.ms");
    add(
        reasons,
        "the property bounds the memory of a process",
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
        "the format of records is fixed",
        "default.key.serde",
        "default.value.serde",
        "key.deserializer",
        "key.serializer",
        "message.timestamp.after.max.ms",
        "value.deserializer",
        "value.serializer");
    add(
        reasons,
        "'weir topics create' creates topics, with enough copies",
        "allow.auto.create.topics",
        "max.compaction.lag.ms",
        "min.insync.replicas",
        "replication.factor");
    add(
        reasons,
        "exact counts depend on the property",
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
        "the property moves partitions between aggregators",
        "acceptable.recovery.lag",
        "task.assignor.class",
        "rack.aware.assignment.strategy",
        "rack.aware.assignment.tags",
        "max.warmup.replicas",
        "probing.rebalance.interval.ms");
    reasons.put("client.id", "clients are named after their process: WEIR_NODE, WEIR_INSTANCE");
    reasons.put("session.timeout.ms", "WEIR_SESSION_TIMEOUT sets it");
    reasons.put("state.dir", "WEIR_DATA sets the folder");
    reasons.put("num.stream.threads", "WEIR_STREAM_THREADS sets it");
    reasons.put("num.standby.replicas", "WEIR_STANDBYS sets it");
    reasons.put("application.server", "WEIR_ADVERTISED_REPORTS sets it");
    return Map.copyOf(reasons);
  }

  private static void add(Map<String, String> reasons, String why, String... names) {
    for (String name : names) {
      reasons.put(name, why);
    }
  }

  /**
   * Returns the reason why an operator must not set a property; null if the operator may set it.
   */
  static @Nullable String reason(String name) {
    String plain = plain(name);
    if (!plain.equals(name)) {
      return "the prefix limits the property to some clients; set " + plain + " for all clients";
    }
    String reason = REASONS.get(name);
    return reason == null && !isOpen(name)
        ? "operators must not set the property (docs/operate/install.md, access to Kafka)"
        : reason;
  }

  /**
   * Returns whether an operator may set a property. An operator may set connection properties and
   * defaults. An operator may also set a property that Kafka's clients do not know, such as a
   * property of a plug-in.
   */
  private static boolean isOpen(String name) {
    return DEFAULTS.contains(name)
        || OPEN_PREFIXES.stream().anyMatch(name::startsWith)
        || !(OF_KAFKA.contains(name) || name.startsWith("_") || name.startsWith("internal."));
  }

  /** Returns whether an operator's value takes precedence over Weir's value. */
  static boolean isDefault(String name) {
    return DEFAULTS.contains(plain(name));
  }

  /** Returns the name of a property without the prefix that applies it to only some clients. */
  static String plain(String name) {
    for (String prefix : PREFIXES) {
      if (name.startsWith(prefix)) {
        return name.substring(prefix.length());
      }
    }
    return name;
  }

  /**
   * Requires that this class lists a property that Weir sets.
   *
   * @throws IllegalArgumentException if the property is not listed, because Weir would ignore an
   *     operator's value
   */
  static void requireKnown(String name) {
    if (!REASONS.containsKey(plain(name)) && !isDefault(name)) {
      throw new IllegalArgumentException(
          "OwnProperties must list each Kafka property that Weir sets, but lacks " + name);
    }
  }
}
