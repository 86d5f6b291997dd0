// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.AggregatorStartException;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.RunningUp;
import io.weir.cli.console.WrongVariables;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.ingest.rls.RateLimitSettings;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.DataFolder;
import io.weir.servers.EmbeddedKafka;
import io.weir.servers.Ports;
import io.weir.servers.RedisServer;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All processes of Weir in one JVM with one data folder: an embedded Kafka broker, one aggregator
 * and one ingest node. Redis runs as a child process. If {@code WEIR_KAFKA} or {@code WEIR_REDIS}
 * names a server, that server is used instead of the embedded server.
 */
final class LocalWeir implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LocalWeir.class);
  private static final int MAX_PARTITIONS = 1_000;
  private static final String KAFKA_PORT = "WEIR_KAFKA_PORT";
  private static final int DEFAULT_KAFKA_PORT = 9092;
  private static final String REDIS_PORT = "WEIR_REDIS_PORT";
  private static final int DEFAULT_REDIS_PORT = 6379;
  private static final Path DEFAULT_POLICIES = Path.of("policies.yml");

  /**
   * Maximum time until all parts are ready. Restoring months of state from the local broker takes
   * minutes.
   */
  private static final Duration READY_TIMEOUT = Duration.ofMinutes(5);

  /**
   * The started parts, the newest first. Other threads read this list while {@link #close} empties
   * it.
   */
  private final Deque<Part> parts = new ConcurrentLinkedDeque<>();

  private final Consumer<String> stopping;

  private String scheme = "http://";
  private KafkaConnection kafka = KafkaConnection.to("");
  private String redis = "";
  private Duration ingestStop = Duration.ZERO;
  private int httpPort;
  private OptionalInt grpcPort = OptionalInt.empty();
  private int reportsPort;
  private Wait awaitParts = () -> {};

  private interface Wait {
    void await() throws InterruptedException;
  }

  /**
   * One started part.
   *
   * @param failure returns why the part has stopped working, or an empty string while it works
   */
  private record Part(String name, AutoCloseable handle, Supplier<String> failure) {}

  private LocalWeir(Consumer<String> stopping) {
    this.stopping = stopping;
  }

  /**
   * Starts all parts. When {@link #awaitReady} has returned, the parts serve calls and reports.
   *
   * @param environment the variables
   * @param step receives the name of each part before it is started
   * @param stopping receives the name of each part before it is stopped
   */
  static LocalWeir start(
      Map<String, String> environment, Consumer<String> step, Consumer<String> stopping)
      throws IOException, TopicAdminException, AggregatorStartException, InterruptedException {
    LocalWeir weir = new LocalWeir(stopping);
    try {
      weir.startParts(environment, step);
      return weir;
    } catch (NoClassDefFoundError missing) {
      weir.close();
      throw new CommandFailedException(
          "this installation, like the container image, contains neither Kafka nor"
              + " redis-server: set WEIR_KAFKA and WEIR_REDIS, or use ./weir of the repository",
          missing);
    } catch (Throwable failed) {
      weir.close();
      throw failed;
    }
  }

  private void startParts(Map<String, String> environment, Consumer<String> step)
      throws IOException, TopicAdminException, AggregatorStartException, InterruptedException {
    // before any part is started
    int partitions = WrongVariables.read(environment, LocalWeir::readAll);
    Ingest.check(IngestConfig.of(innerBeforeTheStart(environment)));
    Settings settings = Settings.of(environment);
    refuseTakenPorts(settings);
    step.accept("data folder");
    Path data = RunningUp.dataFolder(settings);
    parts.push(new Part("data folder", DataFolder.open(data), () -> ""));
    String password = ServersPassword.of(settings, data);
    boolean isOurs = settings.text(KafkaConnection.VARIABLE, "").isEmpty();
    Map<String, String> kafkaProperties = Map.of();
    if (isOurs) {
      step.accept("Kafka");
      EmbeddedKafka broker =
          EmbeddedKafka.start(
              data.resolve("kafka"), settings.port(KAFKA_PORT, DEFAULT_KAFKA_PORT), password);
      parts.push(new Part("Kafka", broker, () -> startAgain(broker.failure())));
      kafkaProperties = broker.clientProperties();
      kafka = KafkaConnection.to(broker.bootstrapServers(), kafkaProperties);
    } else {
      kafka = KafkaConnection.of(settings);
    }
    if (isOurs) {
      RunningUp announced = RunningUp.announce(data, kafka.bootstrapServers(), kafkaProperties);
      parts.push(new Part("file with Kafka's address", announced, () -> ""));
    }
    step.accept("topics");
    try (TopicAdmin admin = TopicAdmin.connect(kafka)) {
      boolean isNew =
          admin.createMissing(partitions, Optional.empty()).contains(Topics.CALLS.name());
      if (isOurs && !isNew) {
        Predecessor.fence(
            kafka,
            settings.text("WEIR_APPLICATION_PREFIX", AggregatorConfig.DEFAULT_APPLICATION_PREFIX));
      }
    }
    String redisUri = settings.text("WEIR_REDIS", "");
    if (redisUri.isEmpty()) {
      step.accept("Redis");
      RedisServer server =
          RedisServer.startLockedDown(
              data.resolve("redis"),
              settings.port(REDIS_PORT, DEFAULT_REDIS_PORT),
              password == null ? null : ApiKeyHash.of(password).toString());
      parts.push(
          new Part(
              "Redis",
              server,
              () ->
                  startAgain(
                      server.isAlive()
                          ? ""
                          : "its process has ended (redis/redis.log may show the reason)")));
      redisUri =
          password == null ? server.uri() : server.uri().replace("://", "://:" + password + "@");
    }
    if (settings.text(SingleCopy.VARIABLE, "").isEmpty()) {
      step.accept("with one copy of everything in Kafka (" + SingleCopy.VARIABLE + "=allow)");
    }
    Map<String, String> inner = inner(environment, kafka.bootstrapServers(), redisUri);
    kafkaProperties.forEach((name, value) -> inner.put(KafkaConnection.variable(name), value));
    AggregatorConfig aggregatorConfig = AggregatorConfig.of(inner);
    IngestConfig ingestConfig = IngestConfig.of(inner);
    redis = ingestConfig.redis().shownUri();
    scheme = ingestConfig.access().tls() == null ? "http://" : "https://";
    step.accept("aggregator");
    RedisLiveCache cache = RedisLiveCache.start(ingestConfig.redis());
    parts.push(new Part("Redis client of the reports", cache, () -> ""));
    Aggregator started = Aggregator.start(aggregatorConfig, cache);
    parts.push(new Part("aggregator", started, started::failure));
    reportsPort = started.reportsPort();
    step.accept("ingest");
    Ingest ingest = Ingest.start(ingestConfig);
    parts.push(new Part("ingest", ingest, () -> ""));
    httpPort = ingest.httpPort();
    grpcPort = ingest.grpcPort();
    ingestStop = ingestConfig.stopDelay().plus(ingestConfig.drainTimeout());
    step.accept("reports");
    awaitParts =
        () -> {
          awaitReady(started);
          ingest.awaitReady();
        };
  }

  /**
   * Reads all variables to find the wrong ones.
   *
   * @return the number of partitions of new topics
   */
  private static int readAll(Map<String, String> environment) {
    Settings settings = Settings.of(environment);
    settings.port(KAFKA_PORT, DEFAULT_KAFKA_PORT);
    settings.port(REDIS_PORT, DEFAULT_REDIS_PORT);
    refusePropertiesOfOurKafka(environment, settings);
    Map<String, String> first = innerBeforeTheStart(environment);
    AggregatorConfig.of(first);
    IngestConfig.of(first);
    return (int) settings.integer("WEIR_PARTITIONS", 4, 1, MAX_PARTITIONS);
  }

  private static void refusePropertiesOfOurKafka(
      Map<String, String> environment, Settings settings) {
    if (settings.text(KafkaConnection.VARIABLE, "").isEmpty()) {
      environment.keySet().stream()
          .filter(KafkaConnection::isProperty)
          .filter(variable -> !settings.text(variable, "").isEmpty())
          .sorted()
          .findFirst()
          .ifPresent(
              variable -> {
                throw new Settings.InvalidSettingException(
                    variable
                        + " is set, but WEIR_KAFKA is not; the broker that weir then starts"
                        + " accepts no properties");
              });
    }
  }

  /**
   * Returns the variables of the parts before any server is started. The addresses of embedded
   * servers are placeholders.
   */
  private static Map<String, String> innerBeforeTheStart(Map<String, String> environment) {
    Settings settings = Settings.of(environment);
    return inner(
        environment,
        settings.text("WEIR_KAFKA", "127.0.0.1:9092"),
        settings.text("WEIR_REDIS", "redis://127.0.0.1"));
  }

  /**
   * Waits until the parts serve calls and reports.
   *
   * @throws CommandFailedException if a part stops during the wait, or the aggregator takes longer
   *     than {@link #READY_TIMEOUT}
   */
  void awaitReady() throws InterruptedException {
    awaitParts.await();
  }

  /** Returns the variables that the parts read. */
  private static Map<String, String> inner(
      Map<String, String> environment, String kafka, String redisUri) {
    Map<String, String> inner = new HashMap<>(environment);
    boolean isOurKafka = environment.getOrDefault(KafkaConnection.VARIABLE, "").isEmpty();
    if (isOurKafka && Files.exists(DEFAULT_POLICIES)) {
      // the embedded Kafka has only this folder's policies; other clusters may have other policies
      putIfUnset(inner, "WEIR_POLICIES", DEFAULT_POLICIES.toString());
    }
    putIfUnset(inner, SingleCopy.VARIABLE, "allow");
    inner.put("WEIR_KAFKA", kafka);
    inner.put("WEIR_REDIS", redisUri);
    putIfUnset(inner, "WEIR_HTTP_HOST", "127.0.0.1");
    putIfUnset(inner, RateLimitSettings.HOST, "127.0.0.1");
    // no load balancer is in front of the node
    putIfUnset(inner, "WEIR_STOP_DELAY", "PT0S");
    putIfUnset(inner, "WEIR_REPORTS_HOST", "127.0.0.1");
    // a fixed name, because the folder has one node and may be moved to another host
    putIfUnset(inner, "WEIR_NODE", "local");
    putIfUnset(inner, "WEIR_INSTANCE", "local");
    return inner;
  }

  private void awaitReady(Aggregator aggregator) throws InterruptedException {
    long deadline = System.nanoTime() + READY_TIMEOUT.toNanos();
    while (!aggregator.ready()) {
      String failure = failure();
      if (!failure.isEmpty()) {
        throw new CommandFailedException(failure);
      }
      if (System.nanoTime() > deadline) {
        throw new CommandFailedException(
            "the aggregator did not become ready within "
                + READY_TIMEOUT
                + "; set WEIR_LOG=info to see what it does");
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  private static void refuseTakenPorts(Settings settings) throws IOException {
    requireFree(settings, "WEIR_HTTP_PORT", 8080, "the check API");
    if (!settings.text(RateLimitSettings.PORT, "").isEmpty()) {
      requireFree(settings, RateLimitSettings.PORT, 0, "gRPC");
    }
    requireFree(settings, "WEIR_REPORTS_PORT", 8081, "the reports API");
    if (settings.text("WEIR_KAFKA", "").isEmpty()) {
      requireFree(settings, KAFKA_PORT, DEFAULT_KAFKA_PORT, "Kafka");
    }
    if (settings.text("WEIR_REDIS", "").isEmpty()) {
      requireFree(settings, REDIS_PORT, DEFAULT_REDIS_PORT, "Redis");
    }
  }

  private static void requireFree(Settings settings, String variable, int absent, String owner)
      throws IOException {
    int port = settings.port(variable, absent);
    if (port != 0) {
      Ports.requireFree(port, owner, variable);
    }
  }

  private static void putIfUnset(Map<String, String> environment, String variable, String value) {
    if (environment.getOrDefault(variable, "").isEmpty()) {
      environment.put(variable, value);
    }
  }

  /**
   * Returns the failure with the advice to start again, or an empty string for no failure. An
   * embedded server's data are intact after a failure, so a restart loses nothing.
   */
  private static String startAgain(String failure) {
    return failure.isEmpty() ? "" : failure + "; start again with the same WEIR_DATA";
  }

  /**
   * Returns the name of the failed part and the reason, or an empty string while all parts work.
   */
  String failure() {
    // dependencies first: a stopped part may stop the parts that depend on it
    for (Iterator<Part> first = parts.descendingIterator(); first.hasNext(); ) {
      Part part = first.next();
      String why = part.failure().get();
      if (!why.isEmpty()) {
        return part.name() + " has stopped: " + why;
      }
    }
    return "";
  }

  /** Returns the connection settings of Kafka. */
  KafkaConnection kafka() {
    return kafka;
  }

  /** Returns Redis' URI without user and password. */
  String redis() {
    return redis;
  }

  /** Returns how long a stop of the ingest node takes: the stop delay plus the drain timeout. */
  Duration ingestStop() {
    return ingestStop;
  }

  /** Returns host and port of Envoy's rate limit service; empty if the service is off. */
  Optional<String> grpc() {
    return grpcPort.isPresent()
        ? Optional.of("127.0.0.1:" + grpcPort.getAsInt())
        : Optional.empty();
  }

  /** Returns the URL of the check API. */
  String checkUrl() {
    return scheme + "127.0.0.1:" + httpPort;
  }

  /** Returns the URL of the reports API. */
  String reportsUrl() {
    return scheme + "127.0.0.1:" + reportsPort;
  }

  /** Stops all parts, in the reverse order of their start. */
  @Override
  public void close() {
    while (!parts.isEmpty()) {
      Part part = parts.pop();
      stopping.accept(part.name());
      try {
        part.handle().close();
      } catch (Exception failed) {
        LOG.error("{} did not close without errors", part.name(), failed);
      }
    }
  }
}
