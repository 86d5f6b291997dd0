// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.limits;

import io.weir.e2e.WeirProcess;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A {@code weir ingest} process with a small heap, over a real broker and a real Redis. */
final class SmallNode implements AutoCloseable {
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final TestKafka kafka = TestKafka.borrow();
  private final TestRedis redis = TestRedis.borrow();
  private final WeirProcess process;
  private final int port;

  /**
   * Starts it.
   *
   * @param heap as {@code -Xmx} says it
   * @param policies the policy file's text
   * @param settings variables besides those every node needs
   */
  SmallNode(Path folder, String heap, String policies, Map<String, String> settings)
      throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
    Path file = Files.writeString(folder.resolve("policies.yml"), policies);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_STOP_DELAY", "PT0S");
    // no aggregator need be there to restore the cache
    environment.put("WEIR_READY_WAIT", "PT0S");
    environment.put("WEIR_REDIS", redis.uri());
    environment.put("WEIR_NODE", "node-1");
    environment.put("WEIR_HTTP_HOST", "127.0.0.1");
    environment.put("WEIR_HTTP_PORT", "0");
    environment.put("WEIR_DATA", folder.resolve("node").toString());
    environment.put("WEIR_POLICIES", file.toString());
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    environment.putAll(settings);
    process = WeirProcess.startSmall(folder, environment, heap, "ingest");
    port = Integer.parseInt(process.awaitLine("ingest is ready on port "));
  }

  int port() {
    return port;
  }

  String kafka() {
    return kafka.bootstrapServers();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  String errors() {
    return process.errors();
  }

  HttpResponse<String> check(String body) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/check"))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  /** The sum of a metric over its labels that begin so. */
  double metric(String begin) throws IOException, InterruptedException {
    String text =
        http.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/metrics")).build(),
                HttpResponse.BodyHandlers.ofString())
            .body();
    return text.lines()
        .filter(line -> line.startsWith(begin))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Megabytes of heap in use, garbage included. */
  double heapMegabytes() throws IOException, InterruptedException {
    return metric("jvm_memory_used_bytes{area=\"heap\"") / 1e6;
  }

  @Override
  public void close() {
    process.close();
    redis.close();
    kafka.close();
  }
}
