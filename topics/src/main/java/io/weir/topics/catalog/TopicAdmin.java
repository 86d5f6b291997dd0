// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.catalog;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

/**
 * An admin client that creates the topics of the catalogue and compares a cluster with the
 * catalogue. Not thread-safe.
 */
public final class TopicAdmin implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final long KNOWN_PAUSE_NANOS = Duration.ofMillis(20).toNanos();

  /**
   * Maximum number of look-ups of a new topic. All look-ups together take at least 20 s, because of
   * the pauses between them.
   */
  private static final int MAX_LOOKS = 1_000;

  private final Admin admin;
  private final KafkaConnection kafka;
  private final Duration timeout;

  private TopicAdmin(Admin admin, KafkaConnection kafka, Duration timeout) {
    this.admin = admin;
    this.kafka = kafka;
    this.timeout = timeout;
  }

  /**
   * Thrown when the cluster does not reply or rejects a request. The message states the cluster and
   * the reason.
   */
  public static final class TopicAdminException extends Exception {
    private static final long serialVersionUID = 1L;

    TopicAdminException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  /** Creates an admin client without sending a request. */
  public static TopicAdmin connect(KafkaConnection kafka) {
    return connect(kafka, TIMEOUT);
  }

  /**
   * Creates an admin client with another timeout per request, without sending a request.
   *
   * @param timeout timeout of a request, 1 ms to an hour
   * @throws IllegalArgumentException if no server has a valid address
   */
  public static TopicAdmin connect(KafkaConnection kafka, Duration timeout) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) timeout.toMillis());
    settings.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) timeout.toMillis() / 2);
    try {
      return new TopicAdmin(kafka.admin(settings), kafka, timeout);
    } catch (KafkaException noAddress) {
      throw new IllegalArgumentException(
          "no Kafka server has a valid address host:port: " + kafka, noAddress);
    }
  }

  /**
   * Creates the missing topics, and does not change existing topics. The method returns after the
   * leader of every new partition has replied, so that producers can write to the topics.
   *
   * @param partitions number of partitions of each new topic; must not change after calls have been
   *     counted
   * @param replicationFactor replication factor of each new topic; the cluster's default if empty
   * @return names of the topics created
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public List<String> createMissing(int partitions, Optional<Short> replicationFactor)
      throws TopicAdminException {
    return createMissing(partitions, replicationFactor, Map.of());
  }

  /**
   * Creates the missing topics with so many copies that they survive the loss of any one broker.
   *
   * @param replicationFactor replication factor of each new topic, at least {@link Copies#LEAST}
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   * @throws IllegalArgumentException if the replication factor is too small
   */
  public List<String> createMissingInCopies(int partitions, short replicationFactor)
      throws TopicAdminException {
    if (replicationFactor < Copies.LEAST) {
      throw new IllegalArgumentException(
          "replication factor must be at least " + Copies.LEAST + ", but is " + replicationFactor);
    }
    return createMissing(
        partitions,
        Optional.of(replicationFactor),
        Map.of(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, Integer.toString(Copies.LEAST_IN_SYNC)));
  }

  private List<String> createMissing(
      int partitions, Optional<Short> replicationFactor, Map<String, String> further)
      throws TopicAdminException {
    Set<String> present = names();
    List<Topic> created = new ArrayList<>();
    for (Topic topic : Topics.all()) {
      if (!present.contains(topic.name())) {
        Map<String, String> configs = new HashMap<>(topic.configs());
        configs.putAll(further);
        create(
            new NewTopic(topic.name(), Optional.of(topic.partitions(partitions)), replicationFactor)
                .configs(configs));
        created.add(topic);
      }
    }
    List<String> createdNames = created.stream().map(Topic::name).toList();
    await("list the topics", () -> isListed(createdNames));
    await("report their leaders", () -> isLed(created, partitions));
    return createdNames;
  }

  private interface Look {
    boolean isDone() throws TopicAdminException;
  }

  private void await(String what, Look look) throws TopicAdminException {
    int looks = 0;
    while (!look.isDone()) {
      if (++looks > MAX_LOOKS) {
        throw new TopicAdminException(
            "Kafka at " + kafka + " (WEIR_KAFKA) created topics, but does not " + what, null);
      }
      LockSupport.parkNanos(KNOWN_PAUSE_NANOS);
    }
  }

  /**
   * Returns whether the brokers list the created topics. A broker may not list a new topic
   * immediately after the creation.
   */
  private boolean isListed(List<String> created) throws TopicAdminException {
    return names().containsAll(created);
  }

  /**
   * Returns whether the leaders of the created partitions reply. The metadata names a broker as
   * leader shortly before the broker acts as leader. If a producer writes too early, the broker may
   * reject the first batch, accept the second batch, and then reject every retry of the first
   * batch. The reason is that a broker accepts any first sequence number of a new producer.
   */
  private boolean isLed(List<Topic> created, int partitions) throws TopicAdminException {
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    for (Topic topic : created) {
      for (int partition = 0; partition < topic.partitions(partitions); partition++) {
        ends.put(new TopicPartition(topic.name(), partition), OffsetSpec.latest());
      }
    }
    try {
      call("read the end of new topics", admin.listOffsets(ends).all()::get);
      return true;
    } catch (TopicAdminException failed) {
      // the queried broker does not have the topics yet; the client itself retries only once
      if (failed.getCause() instanceof UnknownTopicOrPartitionException) {
        return false;
      }
      throw failed;
    }
  }

  private void create(NewTopic topic) throws TopicAdminException {
    try {
      call("create topic " + topic.name(), admin.createTopics(List.of(topic)).all()::get);
    } catch (TopicAdminException failed) {
      // another process has created the topic
      if (!(failed.getCause() instanceof TopicExistsException)) {
        throw failed;
      }
    }
  }

  /**
   * Returns the differences from the catalogue, one sentence per difference; empty if there are no
   * differences.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public List<String> differences() throws TopicAdminException {
    Map<String, TopicDescription> descriptions = described();
    List<String> differences = new ArrayList<>();
    for (Topic topic : Topics.all()) {
      if (!descriptions.containsKey(topic.name())) {
        differences.add(topic.name() + " is missing");
      }
    }
    comparePartitions(descriptions, differences);
    Map<ConfigResource, Config> configs = configs(descriptions.keySet());
    for (Topic topic : Topics.all()) {
      Config config = configs.get(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()));
      if (config != null) {
        compareConfig(topic, config, differences);
      }
    }
    return differences;
  }

  /**
   * Returns a description of each topic setting that allows too few copies; empty if the topics
   * survive the loss of any one broker. Missing topics are ignored.
   *
   * @param isMeant returns whether the method must check the topic with the given name
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public List<String> lackingCopies(Predicate<String> isMeant) throws TopicAdminException {
    List<String> names = names().stream().filter(isMeant).toList();
    return Copies.lacking(describe(names).values(), configs(names));
  }

  /**
   * Returns the number of partitions of the calls topic; 0 if the topic is missing.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public int callsPartitions() throws TopicAdminException {
    TopicDescription calls = described().get(Topics.CALLS.name());
    return calls == null ? 0 : calls.partitions().size();
  }

  /**
   * Returns the id of the cluster. A job with stored offsets recognizes its cluster by the id.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public String clusterId() throws TopicAdminException {
    return call("read the cluster's id", admin.describeCluster().clusterId()::get);
  }

  /**
   * Returns the id of a topic (KIP-516); empty if the topic is missing. If a topic is deleted and
   * created again, it has a new id.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public String topicId(Topic topic) throws TopicAdminException {
    TopicDescription description = described().get(topic.name());
    return description == null ? "" : description.topicId().toString();
  }

  /**
   * Returns the descriptions of the catalogue's topics, by name, without missing topics.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public Map<String, TopicDescription> described() throws TopicAdminException {
    return describe(names().stream().filter(Topics::contains).toList());
  }

  /**
   * Returns a setting of an existing topic; null if the cluster does not know the setting.
   *
   * @throws TopicAdminException if the cluster does not reply or rejects the request
   */
  public @Nullable String setting(Topic topic, String name) throws TopicAdminException {
    Config config =
        configs(List.of(topic.name()))
            .get(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()));
    ConfigEntry entry = config == null ? null : config.get(name);
    return entry == null ? null : entry.value();
  }

  private Set<String> names() throws TopicAdminException {
    return call("list topics", admin.listTopics().names()::get);
  }

  private Map<String, TopicDescription> describe(Collection<String> names)
      throws TopicAdminException {
    return call("describe topics", admin.describeTopics(names).allTopicNames()::get);
  }

  private Map<ConfigResource, Config> configs(Collection<String> names) throws TopicAdminException {
    List<ConfigResource> resources =
        names.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
    return call("describe topic settings", admin.describeConfigs(resources).all()::get);
  }

  private static void comparePartitions(
      Map<String, TopicDescription> descriptions, List<String> differences) {
    TopicDescription calls = descriptions.get(Topics.CALLS.name());
    if (calls == null) {
      return;
    }
    int partitions = calls.partitions().size();
    for (Topic topic : Topics.all()) {
      TopicDescription description = descriptions.get(topic.name());
      if (description == null) {
        continue;
      }
      int found = description.partitions().size();
      if (found != topic.partitions(partitions)) {
        differences.add(
            topic.name()
                + " has "
                + found
                + " partitions, but "
                + (topic.ownPartitions() == 0
                    ? Topics.CALLS.name()
                        + " has "
                        + partitions
                        + "; a row must be in the same partition as its calls"
                    : "must have "
                        + topic.ownPartitions()
                        + " so that its records are in one order"));
      }
    }
  }

  private static void compareConfig(Topic topic, Config config, List<String> differences) {
    topic
        .configs()
        .forEach(
            (name, expected) -> {
              ConfigEntry entry = config.get(name);
              String actual = entry == null ? "nothing" : entry.value();
              if (!expected.equals(actual)) {
                differences.add(
                    topic.name() + " has " + name + "=" + actual + ", but must have " + expected);
              }
            });
  }

  private interface Call<T> {
    T get(long timeout, TimeUnit unit)
        throws InterruptedException, ExecutionException, TimeoutException;
  }

  private static String operation(String what) {
    return what.startsWith("create")
        ? "Create"
        : what.contains("settings") ? "DescribeConfigs" : "Describe";
  }

  private <T> T call(String what, Call<T> call) throws TopicAdminException {
    try {
      return call.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException failed) {
      Throwable cause = failed.getCause() == null ? failed : failed.getCause();
      throw new TopicAdminException(
          "Kafka at "
              + kafka
              + " (WEIR_KAFKA): cannot "
              + what
              + ": "
              + KafkaRefusal.explain(cause, operation(what), cause.getMessage()),
          cause);
    } catch (TimeoutException silent) {
      throw new TopicAdminException(
          "Kafka at " + kafka + " (WEIR_KAFKA) does not answer: cannot " + what, silent);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new TopicAdminException("interrupted", interrupted);
    }
  }

  @Override
  public void close() {
    admin.close(Duration.ZERO);
  }
}
