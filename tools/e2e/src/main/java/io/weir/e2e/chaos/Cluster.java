// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.FixedPorts;
import io.weir.e2e.WeirProcess;
import io.weir.e2e.audit.Deployment;
import io.weir.e2e.audit.Expect;
import io.weir.e2e.audit.Limit;
import io.weir.e2e.audit.Verified;
import io.weir.servers.RedisServer;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;

/**
 * Brokers, Redis, two ingest nodes and two aggregators. Each of these servers is a separate process
 * with its own folder. A relay connects each pair of processes that communicate. Addresses stay the
 * same after a restart. Only one thread at a time may start and stop processes.
 */
final class Cluster implements Deployment, AutoCloseable {
  /** Length of a ledger window. Windows are short, so that some of them close during faults. */
  private static final String WINDOW = "PT5S";

  private static final int PARTITIONS = 4;
  private static final int PAIR = 2;

  private static final Limit TIGHT = new Limit("GET ", 40, 20, PAIR);

  private static final String POLICIES =
      """
      policies:
        - name: tight
          match: {endpoint: ["GET *"]}
          limit: {algorithm: token-bucket, capacity: 40, refill_tokens: 20, refill_period: PT1S}
        - name: monthly
          match: {endpoint: ["GET *"]}
          limit: {algorithm: quota, limit: 100000, period: month}
          on_cache_failure: local
        - name: orders
          match: {endpoint: ["POST *"]}
          limit: {algorithm: token-bucket, capacity: 400, refill_tokens: 400, refill_period: PT1S}
          lease: {tokens: 10%, for: PT1S}
      """;

  private final Path folder;
  private final FixedPorts ports = new FixedPorts();
  private final Network network = new Network(ports);
  private final int redisPort = ports.next();
  private final Brokers brokers;
  private final List<Member> ingest = new ArrayList<>();
  private final List<Member> aggregators = new ArrayList<>();
  private final List<String> checkUrls = new ArrayList<>();
  private final List<String> relayedCheckUrls = new ArrayList<>();
  private final List<String> reportsUrls = new ArrayList<>();
  private final Map<String, String> urls = new HashMap<>();
  private final AtomicInteger numbers = new AtomicInteger();
  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).build();
  private volatile RedisServer redis;

  private Cluster(Path folder, int brokerCount) throws IOException {
    this.folder = folder;
    Path policies = Files.writeString(folder.resolve("policies.yml"), POLICIES);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < PAIR; i++) {
      names.add("ingest-" + i);
      names.add("aggregator-" + i);
    }
    brokers = new Brokers(folder, brokerCount, names, ports, network);
    redis = RedisServer.start(folder.resolve("redis"), redisPort);
    for (int i = 0; i < PAIR; i++) {
      ingest.add(ingestNode("ingest-" + i, policies));
      aggregators.add(aggregator("aggregator-" + i));
    }
  }

  /**
   * Starts all processes. When this method returns, the processes answer calls and reports.
   *
   * @param folder an empty folder, which only this cluster uses
   * @param brokers number of brokers, 1 or 3; with 3, Kafka stays available while one broker is
   *     stopped
   */
  static Cluster start(Path folder, int brokers) throws Exception {
    Cluster cluster = new Cluster(folder, brokers);
    try {
      Member.startAll(cluster.brokers());
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(cluster.kafka()))) {
        topics.createMissing(PARTITIONS, Optional.empty());
      }
      List<Member> rest = new ArrayList<>(cluster.ingest());
      rest.addAll(cluster.aggregators());
      Member.startAll(rest);
      return cluster;
    } catch (Throwable failed) {
      cluster.close();
      throw failed;
    }
  }

  private Member ingestNode(String name, Path policies) {
    int port = ports.next();
    int relayed = network.connect("callers", name, port);
    checkUrls.add("http://127.0.0.1:" + port + "/v1/check");
    relayedCheckUrls.add("http://127.0.0.1:" + relayed + "/v1/check");
    urls.put(name, "http://127.0.0.1:" + port);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", brokers.of(name));
    environment.put("WEIR_SINGLE_COPY", brokers.members().size() == 1 ? "allow" : "refuse");
    environment.put("WEIR_REDIS", "redis://127.0.0.1:" + network.connect(name, "redis", redisPort));
    environment.put("WEIR_NODE", name);
    environment.put("WEIR_NODES", Integer.toString(PAIR));
    environment.put("WEIR_STOP_DELAY", "PT0.5S");
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", Integer.toString(port));
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_DECISION_DEADLINE", "PT0.5S");
    environment.put("WEIR_LOG", "INFO");
    // one node with the deny cache, and one without
    environment.put("WEIR_DENY_CACHE", urls.size() % PAIR == 0 ? "PT1S" : "PT0S");
    return Member.command(name, folder, environment, "ingest is ready on port", "ingest");
  }

  private Member aggregator(String name) {
    int port = ports.next();
    int relayed = network.connect("aggregators", name, port);
    reportsUrls.add("http://127.0.0.1:" + port);
    urls.put(name, "http://127.0.0.1:" + port);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", brokers.of(name));
    environment.put("WEIR_SINGLE_COPY", brokers.members().size() == 1 ? "allow" : "refuse");
    environment.put("WEIR_INSTANCE", name);
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_REPORTS_HOST", "127.0.0.1");
    environment.put("WEIR_REPORTS_PORT", Integer.toString(port));
    environment.put("WEIR_ADVERTISED_REPORTS", "127.0.0.1:" + relayed);
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_SESSION_TIMEOUT", "PT6S");
    environment.put("WEIR_STANDBYS", "1");
    environment.put("WEIR_LOG", "INFO");
    return Member.command(name, folder, environment, "aggregator is up", "aggregate");
  }

  /** Returns every process except Redis. */
  List<Member> members() {
    List<Member> members = new ArrayList<>();
    members.addAll(brokers());
    members.addAll(aggregators);
    members.addAll(ingest);
    return members;
  }

  List<Member> brokers() {
    return brokers.members();
  }

  List<Member> ingest() {
    return List.copyOf(ingest);
  }

  List<Member> aggregators() {
    return List.copyOf(aggregators);
  }

  Network network() {
    return network;
  }

  /** Waits until a process is ready. For a broker, also waits until all replicas are in sync. */
  void awaitReady(Member member) throws Exception {
    if (!becomesReady(member, Await.TIMEOUT)) {
      throw new IllegalStateException(
          member.name() + " is not ready after " + Await.TIMEOUT + ": " + member.errors());
    }
  }

  /** Returns whether a process becomes ready in time. */
  boolean becomesReady(Member member, Duration timeout) throws Exception {
    String url = urls.get(member.name());
    return Await.within(
        timeout, () -> url == null ? isReplicated() : get(url + "/health/ready").isPresent());
  }

  private boolean isReplicated() throws InterruptedException {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka()))) {
      ListTopicsOptions all = new ListTopicsOptions().listInternal(true);
      return admin
          .describeTopics(admin.listTopics(all).names().get())
          .allTopicNames()
          .get()
          .values()
          .stream()
          .flatMap(topic -> topic.partitions().stream())
          .allMatch(partition -> partition.isr().size() == brokers().size());
    } catch (ExecutionException notNow) {
      return false;
    }
  }

  /** Returns the current value of a counter or gauge without labels. */
  long metric(Member member, String name) throws Exception {
    List<Long> values = new ArrayList<>();
    Expect.that(
        member.name() + " tells " + name,
        () -> {
          get(urls.get(member.name()) + "/metrics")
              .orElse("")
              .lines()
              .filter(line -> line.startsWith(name + " "))
              .map(line -> Math.round(Double.parseDouble(line.substring(name.length() + 1))))
              .forEach(values::add);
          return !values.isEmpty();
        });
    return values.get(0);
  }

  /** Returns the body of a response with status 200; empty for any other status or no response. */
  private Optional<String> get(String url) throws InterruptedException {
    try {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(5)).build(),
              HttpResponse.BodyHandlers.ofString());
      return answer.statusCode() == 200 ? Optional.of(answer.body()) : Optional.empty();
    } catch (IOException silent) {
      return Optional.empty();
    }
  }

  /** Returns the health document of a process; empty if it does not respond. */
  String health(Member member) throws InterruptedException {
    return get(urls.get(member.name()) + "/health/ready").orElse("");
  }

  /** Returns the latest timestamp that a broker has given to a batch of calls. */
  Instant newestCalls() throws Exception {
    Map<TopicPartition, OffsetSpec> newest = new HashMap<>();
    for (int i = 0; i < PARTITIONS; i++) {
      newest.put(new TopicPartition("weir.calls.v1", i), OffsetSpec.maxTimestamp());
    }
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka()))) {
      return admin.listOffsets(newest).all().get().values().stream()
          .map(record -> Instant.ofEpochMilli(record.timestamp()))
          .max(Comparator.naturalOrder())
          .orElse(Instant.MIN);
    }
  }

  /**
   * Makes the preferred leader of each partition its leader, if this broker has caught up. Kafka
   * itself elects preferred leaders only every five minutes, so a restarted broker may lead no
   * partition for that time.
   */
  void electPreferredLeaders() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka()))) {
      Map<TopicPartition, Optional<Throwable>> unused =
          admin.electLeaders(ElectionType.PREFERRED, null).partitions().get();
    }
  }

  /** Returns a number that was not returned before. */
  int nextNumber() {
    return numbers.incrementAndGet();
  }

  @Override
  public List<String> checkUrls() {
    return List.copyOf(checkUrls);
  }

  /**
   * Returns the addresses to which callers send checks through a relay, one address for each ingest
   * node.
   */
  List<String> relayedCheckUrls() {
    return List.copyOf(relayedCheckUrls);
  }

  @Override
  public List<String> reportsUrls() {
    return List.copyOf(reportsUrls);
  }

  /** Returns the addresses of the brokers, without relays. */
  @Override
  public String kafka() {
    return brokers.direct();
  }

  @Override
  public int partitions() {
    return PARTITIONS;
  }

  @Override
  public void assertStands() {
    for (Member member : members()) {
      if (!member.isRunning()) {
        throw new IllegalStateException(member.name() + " has ended: " + member.errors());
      }
    }
  }

  @Override
  public Optional<Limit> limit() {
    return Optional.of(TIGHT);
  }

  @Override
  public Verified verify(Instant from, Instant to) throws IOException, InterruptedException {
    try (WeirProcess verify =
        WeirProcess.start(
            folder,
            Map.of("WEIR_KAFKA", kafka(), "WEIR_WINDOW", WINDOW),
            "verify",
            "--from",
            from.toString(),
            "--to",
            to.toString())) {
      int status = verify.awaitExit();
      if (status != 0) {
        System.err.println(verify.output() + verify.errors());
      }
      return Verified.of(status, verify.output());
    }
  }

  Path folder() {
    return folder;
  }

  RedisServer redis() {
    return redis;
  }

  /** Kills Redis with SIGKILL. */
  void killRedis() {
    redis.kill();
  }

  /** Stops Redis with SIGTERM, so that no charge is lost. */
  void stopRedis() {
    redis.close();
  }

  /**
   * Starts Redis with its existing data.
   *
   * @param options further options of redis-server's command line
   */
  void startRedis(String... options) throws IOException {
    redis = RedisServer.start(folder.resolve("redis"), redisPort, options);
  }

  /** Deletes the state that an aggregator has on its disk. The aggregator must not run. */
  void deleteState(Member aggregator) throws IOException {
    deleteAll(folder.resolve(aggregator.name()));
  }

  /** Deletes a folder with its contents. */
  static void deleteAll(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      paths.sorted(Comparator.reverseOrder()).forEach(Cluster::delete);
    }
  }

  private static void delete(Path path) {
    try {
      Files.delete(path);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  @Override
  public void close() {
    for (Member member : ingest) {
      member.close();
    }
    aggregators.forEach(Member::close);
    brokers().forEach(Member::end);
    redis.close();
    network.close();
  }
}
