// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A node with a gRPC port over a real broker and a real Redis, met as Envoy meets it. */
final class RateLimitNode implements AutoCloseable {
  /** Long enough for a busy test machine. */
  private static final long PATIENT_SECONDS = 30;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final TestKafka kafka;
  final TestRedis redis;
  final Ingest ingest;
  private final List<ManagedChannel> channels = new ArrayList<>();
  private final RateLimitServiceBlockingStub service;

  private RateLimitNode(TestKafka kafka, TestRedis redis, Ingest ingest) {
    this.kafka = kafka;
    this.redis = redis;
    this.ingest = ingest;
    this.service = RateLimitServiceGrpc.newBlockingStub(connect());
  }

  static RateLimitNode start(Path folder, String policies, Map<String, String> settings)
      throws Exception {
    TestKafka kafka = TestKafka.borrow();
    TestRedis redis = TestRedis.start();
    try {
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
      environment.put("WEIR_GRPC_HOST", "127.0.0.1");
      environment.put("WEIR_GRPC_PORT", "0");
      environment.put("WEIR_DATA", folder.resolve("data").toString());
      environment.put("WEIR_POLICIES", file.toString());
      environment.put("WEIR_DECISION_DEADLINE", "PT10S");
      environment.putAll(settings);
      return new RateLimitNode(kafka, redis, Ingest.start(IngestConfig.of(environment)));
    } catch (Exception failed) {
      redis.close();
      kafka.close();
      throw failed;
    }
  }

  int port() {
    return ingest.grpcPort().orElseThrow();
  }

  /** Opens a connection, which ends with the node. */
  ManagedChannel connect() {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", port()).usePlaintext().build();
    channels.add(channel);
    return channel;
  }

  /** The client that is generated from the service's definition, with a deadline that is far. */
  RateLimitServiceBlockingStub patient() {
    return service.withDeadlineAfter(PATIENT_SECONDS, TimeUnit.SECONDS);
  }

  /** The client with the deadline that Envoy sets. */
  RateLimitServiceBlockingStub asEnvoy() {
    return service.withDeadlineAfter(20, TimeUnit.MILLISECONDS);
  }

  /** The patient client with a token. */
  RateLimitServiceBlockingStub withToken(String token) {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return patient().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  HttpResponse<String> post(String path, String body) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + ingest.httpPort() + path))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  String metrics() throws Exception {
    return http.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + ingest.httpPort() + "/metrics"))
                .build(),
            HttpResponse.BodyHandlers.ofString())
        .body();
  }

  /** Returns all calls that Kafka has at present. */
  List<CallEvent> recorded() throws Exception {
    List<CallEvent> calls = new ArrayList<>();
    for (CallsTopicReader.Batch batch : CallsTopicReader.read(kafka.bootstrapServers())) {
      calls.addAll(batch.calls());
    }
    return calls;
  }

  @Override
  public void close() {
    channels.forEach(ManagedChannel::shutdownNow);
    ingest.close();
    redis.close();
    kafka.close();
  }
}
