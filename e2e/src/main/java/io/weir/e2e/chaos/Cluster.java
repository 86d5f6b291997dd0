// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.WeirProcess;
import io.weir.servers.Ports;
import io.weir.servers.RedisServer;
import io.weir.topics.catalog.TopicAdmin;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A broker, Redis, two ingest nodes and two aggregators, each a process of its own over a folder of
 * its own. Addresses stay the same when a process comes again. Not safe for threads.
 */
public final class Cluster implements AutoCloseable {
  /** A window of the ledger; short, so that windows close while faults happen. */
  static final String WINDOW = "PT5S";

  static final int PARTITIONS = 4;
  private static final int PAIR = 2;

  private static final String POLICIES =
      """
      policies:
        - name: tight
          match: {endpoint: ["GET *"]}
          limit: {algorithm: token-bucket, capacity: 40, refill_tokens: 20, refill_period: PT1S}
        - name: monthly
          limit: {algorithm: quota, limit: 100000, period: month}
          on_cache_failure: local
      """;

  private final Path folder;
  private final int kafkaPort = Ports.free();
  private final int redisPort = Ports.free();
  private final Member broker;
  private final List<Member> ingest = new ArrayList<>();
  private final List<Member> aggregators = new ArrayList<>();
  private final List<String> checkUrls = new ArrayList<>();
  private final List<String> reportsUrls = new ArrayList<>();
  private RedisServer redis;

  private Cluster(Path folder) throws IOException {
    this.folder = folder;
    Path policies = Files.writeString(folder.resolve("policies.yml"), POLICIES);
    broker =
        new Member(
            "broker",
            () -> {
              WeirProcess started =
                  WeirProcess.startMain(
                      folder,
                      Map.of(),
                      BrokerMain.class.getName(),
                      folder.resolve("kafka").toString(),
                      Integer.toString(kafkaPort));
              started.awaitLine(BrokerMain.READY);
              return started;
            });
    redis = RedisServer.start(folder.resolve("redis"), redisPort);
    for (int i = 0; i < PAIR; i++) {
      ingest.add(ingestNode("ingest-" + i, policies));
      aggregators.add(aggregator("aggregator-" + i));
    }
  }

  /**
   * Starts all; calls and reports are answered when this returns.
   *
   * @param folder an empty folder, of this cluster alone
   */
  public static Cluster start(Path folder) throws Exception {
    Cluster cluster = new Cluster(folder);
    try {
      cluster.broker.start();
      try (TopicAdmin topics = TopicAdmin.connect(cluster.kafka())) {
        topics.createMissing(PARTITIONS, Optional.empty());
      }
      for (Member member : cluster.members()) {
        if (!member.isRunning()) {
          member.start();
        }
      }
      return cluster;
    } catch (Throwable failed) {
      cluster.close();
      throw failed;
    }
  }

  private Member ingestNode(String name, Path policies) throws IOException {
    int port = Ports.free();
    checkUrls.add("http://127.0.0.1:" + port + "/v1/check");
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka());
    environment.put("WEIR_REDIS", "redis://127.0.0.1:" + redisPort);
    environment.put("WEIR_NODE", name);
    environment.put("WEIR_NODES", Integer.toString(PAIR));
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", Integer.toString(port));
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_DECISION_DEADLINE", "PT0.5S");
    environment.put("WEIR_LOG", "INFO");
    return Member.command(name, folder, environment, "ingest is ready on port", "ingest");
  }

  private Member aggregator(String name) throws IOException {
    int port = Ports.free();
    reportsUrls.add("http://127.0.0.1:" + port);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka());
    environment.put("WEIR_INSTANCE", name);
    environment.put("WEIR_DATA", folder.resolve(name).toString());
    environment.put("WEIR_REPORTS_HOST", "127.0.0.1");
    environment.put("WEIR_REPORTS_PORT", Integer.toString(port));
    environment.put("WEIR_ADVERTISED_REPORTS", "127.0.0.1:" + port);
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_STANDBYS", "1");
    environment.put("WEIR_LOG", "INFO");
    return Member.command(name, folder, environment, "aggregator is up", "aggregate");
  }

  /** Every process but Redis. */
  List<Member> members() {
    List<Member> members = new ArrayList<>();
    members.add(broker);
    members.addAll(aggregators);
    members.addAll(ingest);
    return members;
  }

  Member broker() {
    return broker;
  }

  Member ingest(int number) {
    return ingest.get(number);
  }

  Member aggregator(int number) {
    return aggregators.get(number);
  }

  /** Where calls are checked, one address for each ingest node. */
  List<String> checkUrls() {
    return List.copyOf(checkUrls);
  }

  /** Where reports are answered, one address without a path for each aggregator. */
  List<String> reportsUrls() {
    return List.copyOf(reportsUrls);
  }

  String kafka() {
    return "127.0.0.1:" + kafkaPort;
  }

  Path folder() {
    return folder;
  }

  RedisServer redis() {
    return redis;
  }

  /** Ends Redis with SIGKILL. */
  void killRedis() {
    redis.kill();
  }

  /** Starts Redis over what it left behind. */
  void startRedis() throws IOException {
    redis = RedisServer.start(folder.resolve("redis"), redisPort);
  }

  /** Throws away the state that an aggregator, which must not run, has on its disk. */
  void deleteState(int aggregator) throws IOException {
    Path state = folder.resolve(aggregators.get(aggregator).name());
    try (Stream<Path> paths = Files.walk(state)) {
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
    for (int i = 0; i < PAIR && i < ingest.size(); i++) {
      ingest.get(i).close();
    }
    aggregators.forEach(Member::close);
    broker.close();
    redis.close();
  }
}
