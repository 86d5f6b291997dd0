// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.openapi.ApiDescription;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.testing.DescribedAnswers;
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

/** One ingest node over a real broker and a real Redis, with a policy for {@code GET *}. */
final class TestNode implements AutoCloseable {
  /** Every answer that a test gets from here is held against the description of the API. */
  private static final DescribedAnswers DESCRIBED =
      new DescribedAnswers(ApiDescription.ofCheckApi().json());

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final TestKafka kafka;
  private final TestRedis redis;
  private final Ingest ingest;

  private TestNode(TestKafka kafka, TestRedis redis, Ingest ingest) {
    this.kafka = kafka;
    this.redis = redis;
    this.ingest = ingest;
  }

  static TestNode start(Path folder, Map<String, String> settings) throws Exception {
    TestKafka kafka = TestKafka.borrow();
    TestRedis redis = TestRedis.borrow();
    try {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
        topics.createMissing(1, Optional.empty());
      }
      Path policies = folder.resolve("policies.yml");
      Files.writeString(
          policies,
          """
          policies:
            - name: wide
              match: {endpoint: ["GET *"]}
              limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1, refill_period: PT1H}
              on_cache_failure: open
          """);
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
      environment.put("WEIR_DATA", folder.resolve("data").toString());
      environment.put("WEIR_POLICIES", policies.toString());
      environment.put("WEIR_DECISION_DEADLINE", "PT10S");
      environment.putAll(settings);
      return new TestNode(kafka, redis, Ingest.start(IngestConfig.of(environment)));
    } catch (Exception failed) {
      redis.close();
      kafka.close();
      throw failed;
    }
  }

  DescribedAnswers described() {
    return DESCRIBED;
  }

  RawHttp connect() throws IOException {
    return RawHttp.connect(ingest.httpPort());
  }

  int port() {
    return ingest.httpPort();
  }

  HttpRequest check(String body) {
    return post("/v1/check", body);
  }

  HttpRequest post(String path, String body) {
    return HttpRequest.newBuilder(uri(path))
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
    return DESCRIBED.check(http.send(request, HttpResponse.BodyHandlers.ofString()));
  }

  HttpClient http() {
    return http;
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send(HttpRequest.newBuilder(uri(path)).build());
  }

  /** A figure of the metrics, by its name and labels as they are written. */
  double metric(String name) throws IOException, InterruptedException {
    for (String line : get("/metrics").body().lines().toList()) {
      if (line.startsWith(name + " ")) {
        return Double.parseDouble(line.substring(name.length() + 1));
      }
    }
    throw new IllegalStateException("no metric " + name);
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + ingest.httpPort() + path);
  }

  @Override
  public void close() {
    ingest.close();
    redis.close();
    kafka.close();
  }
}
