// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.compose;

import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.e2e.FixedPorts;
import io.weir.e2e.audit.Deployment;
import io.weir.e2e.audit.Verified;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The cluster of {@code docker-compose.yml} on ports of its own, with short windows. Not safe for
 * threads.
 */
final class ComposeCluster implements Deployment, AutoCloseable {
  static final List<String> INGEST = List.of("ingest-1", "ingest-2");
  static final List<String> AGGREGATORS = List.of("aggregator-1", "aggregator-2");

  /** Number of partitions that the compose file creates. */
  private static final int PARTITIONS = 12;

  private static final String WINDOW = "PT5S";

  /** In the detail of {@code call_log}. */
  private static final Pattern OLDEST_UNACKED = Pattern.compile("oldest_unacked_ms=(\\d+)");

  private final HttpClient http =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(1)).build();
  private final String token = BearerToken.create();
  private final Map<String, String> urls = new HashMap<>();
  private final String kafka;
  private final ComposeProject project;

  private ComposeCluster(Path root) throws IOException, InterruptedException {
    FixedPorts ports = new FixedPorts();
    Map<String, String> variables = new HashMap<>();
    variables.put("WEIR_WINDOW", WINDOW);
    variables.put("WEIR_GRACE", "PT2S");
    variables.put("WEIR_TOKENS", tokensFile(root).toString());
    for (int i = 1; i <= INGEST.size(); i++) {
      variables.put("WEIR_CHECKS_PORT_" + i, port(INGEST.get(i - 1), ports));
      variables.put("WEIR_REPORTS_PORT_" + i, port(AGGREGATORS.get(i - 1), ports));
    }
    String kafkaPort = Integer.toString(ports.next());
    variables.put("WEIR_KAFKA_PORT", kafkaPort);
    kafka = "localhost:" + kafkaPort;
    String name = "weir-e2e-" + Integer.toHexString(root.hashCode());
    project =
        ComposeProject.up(root, name, variables, root.resolve("tools/e2e/target/compose.log"));
  }

  /** Writes a tokens file like {@code weir tokens create}. */
  private Path tokensFile(Path root) throws IOException {
    Path file = root.resolve("tools/e2e/target/compose-tokens.yml").toAbsolutePath();
    Files.createDirectories(file.getParent());
    return Files.writeString(
        file,
        TokenFile.empty()
            .with(
                new TokenFile.Entry(
                    ApiKeyHash.of(token),
                    new Grant("audit", Set.of(Scope.CHECK, Scope.REPORT), Set.of()),
                    null))
            .text());
  }

  private String port(String service, FixedPorts ports) {
    int port = ports.next();
    urls.put(service, "http://localhost:" + port);
    return Integer.toString(port);
  }

  /**
   * Starts all, from the image of the working tree; calls and reports are answered when this
   * returns.
   *
   * @param root where the compose file is; one run at a time over each
   */
  static ComposeCluster start(Path root) throws Exception {
    ComposeCluster cluster = new ComposeCluster(root);
    try {
      for (String service : cluster.urls.keySet()) {
        cluster.awaitReady(service);
      }
      return cluster;
    } catch (Throwable failed) {
      cluster.close();
      throw failed;
    }
  }

  ComposeProject project() {
    return project;
  }

  /** Waits until a process of Weir does its whole work. */
  void awaitReady(String service) throws Exception {
    Await.until(service + " is ready", () -> isReady(service));
  }

  /** Waits until Kafka has confirmed the calls that an ingest node decided before a time. */
  void awaitConfirmed(String service, Instant before) throws Exception {
    Await.until("Kafka confirms the calls of " + service, () -> isConfirmed(service, before));
  }

  private boolean isReady(String service) throws InterruptedException {
    return health(service).map(answer -> answer.statusCode() == 200).orElse(false);
  }

  private boolean isConfirmed(String service, Instant before) throws InterruptedException {
    return health(service)
        .map(answer -> OLDEST_UNACKED.matcher(answer.body()))
        .map(
            oldest ->
                oldest.find()
                    && Instant.now().minusMillis(Long.parseLong(oldest.group(1))).isAfter(before))
        .orElse(false);
  }

  private Optional<HttpResponse<String>> health(String service) throws InterruptedException {
    URI ready = URI.create(urls.get(service) + "/health/ready");
    try {
      return Optional.of(
          http.send(
              HttpRequest.newBuilder(ready).timeout(Duration.ofSeconds(5)).build(),
              HttpResponse.BodyHandlers.ofString()));
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }

  @Override
  public List<String> checkUrls() {
    return INGEST.stream().map(service -> urls.get(service) + "/v1/check").toList();
  }

  @Override
  public List<String> reportsUrls() {
    return AGGREGATORS.stream().map(urls::get).toList();
  }

  @Override
  public String kafka() {
    return kafka;
  }

  @Override
  public String token() {
    return token;
  }

  @Override
  public int partitions() {
    return PARTITIONS;
  }

  /** The engine starts again what has ended by itself. */
  @Override
  public void assertStands() {}

  @Override
  public Verified verify(Instant from, Instant to) throws IOException, InterruptedException {
    Cli.Ended verify =
        project.run(
            "topics",
            Map.of("WEIR_WINDOW", WINDOW),
            List.of("verify", "--from", from.toString(), "--to", to.toString()));
    System.out.println(verify.output());
    return Verified.of(verify.status(), verify.output().lines().toList());
  }

  @Override
  public void close() throws IOException {
    project.close();
  }
}
