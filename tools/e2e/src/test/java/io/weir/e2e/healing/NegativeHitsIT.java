// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.UInt64Value;
import com.google.protobuf.UnknownFieldSet;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.weir.cli.verify.Verification;
import io.weir.cli.verify.Verifier;
import io.weir.e2e.WeirProcess;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.math.BigInteger;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Hits are given back over gRPC, also right before the node is killed: bill, bucket and log agree,
 * and what the node does not know is not given back.
 */
final class NegativeHitsIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int CAPACITY = 1_000;
  private static final List<Rule> RULES =
      List.of(Rule.bucket("burst", "*", CAPACITY, Duration.ofHours(1)));

  private final HttpClient http = HttpClient.newHttpClient();
  private final Instant begin = Instant.now().minusSeconds(3_600);
  @TempDir private Path folder;

  /** A node in a process of its own, and a connection to it. */
  private record Node(WeirProcess process, ManagedChannel channel, String url)
      implements AutoCloseable {
    DescriptorStatus ask(String client, long hits, boolean isNegative) {
      RateLimitDescriptor.Builder descriptor =
          RateLimitDescriptor.newBuilder()
              .addEntries(RateLimitDescriptor.Entry.newBuilder().setKey("user_id").setValue(client))
              .setHitsAddend(UInt64Value.of(hits));
      if (isNegative) {
        descriptor.setUnknownFields(
            UnknownFieldSet.newBuilder()
                .addField(4, UnknownFieldSet.Field.newBuilder().addVarint(1).build())
                .build());
      }
      return RateLimitServiceGrpc.newBlockingStub(channel)
          .withDeadlineAfter(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
          .shouldRateLimit(
              RateLimitRequest.newBuilder().setDomain("shop").addDescriptors(descriptor).build())
          .getStatuses(0);
    }

    void charge(String client, long hits) {
      assertEquals(Code.OK, ask(client, hits, false).getCode());
    }

    void giveBack(String client, long hits) {
      assertEquals(Code.OK, ask(client, hits, true).getCode());
    }

    @Override
    public void close() {
      channel.shutdownNow();
      process.close();
    }
  }

  private Node start(Fleet fleet) throws Exception {
    int port = Ports.free();
    Map<String, String> environment = new HashMap<>(fleet.nodeEnvironment("mortal"));
    environment.put("WEIR_GRPC_HOST", "127.0.0.1");
    environment.put("WEIR_GRPC_PORT", Integer.toString(port));
    environment.put("WEIR_RLS_CLIENT_KEYS", "user_id");
    environment.put("WEIR_RLS_NEGATIVE_HITS", "on");
    WeirProcess process = WeirProcess.start(folder, environment, "ingest");
    String url = "http://127.0.0.1:" + process.awaitLine("ingest is ready on port");
    return new Node(
        process, NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build(), url);
  }

  @Test
  void hitsThatAreGivenBack_leaveBillAndBucket_alsoWhenTheNodeIsKilled() throws Exception {
    try (Fleet fleet = Fleet.start(folder, RULES, 0)) {
      try (Node node = start(fleet)) {
        // each call costs 1, so each is given back whole
        for (int i = 0; i < 30; i++) {
          node.charge("ones", 1);
        }
        node.giveBack("ones", 12);
        // of calls of 8 one is given back in part, which bars the rest of it, and then nine whole
        for (int i = 0; i < 10; i++) {
          node.charge("eights", 8);
        }
        node.giveBack("eights", 3);
        node.giveBack("eights", 100);
        giveBackFromManyThreads(node);
        assertEquals(12 + 3 + 72 + 100, negativeHits(node, "settled"));
        assertEquals(28 + 20, negativeHits(node, "unknown"));
        node.process.kill();
      }
      try (Node node = start(fleet)) {
        // the node knows no call of before, so it gives none of them back
        node.giveBack("ones", 5);
        for (int i = 0; i < 4; i++) {
          node.charge("ones", 1);
        }
        node.giveBack("ones", 10);
        assertEquals(4, negativeHits(node, "settled"));
        assertEquals(5 + 6, negativeHits(node, "unknown"));

        awaitBilled(fleet, node, "ones", 18);
        awaitBilled(fleet, node, "eights", 5);
        awaitBilled(fleet, node, "threads", 0);
        assertEquals(0, negativeHits(node, "refused"));
        assertEquals(0, negativeHits(node, "not-recorded"));
        awaitVerified(fleet, 18 + 5);
      }
    }
  }

  /** Four callers give 120 hits back of 100. */
  private static void giveBackFromManyThreads(Node node) throws Exception {
    for (int i = 0; i < 100; i++) {
      node.charge("threads", 1);
    }
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Callable<Integer> caller =
          () -> {
            for (int i = 0; i < 15; i++) {
              node.giveBack("threads", 2);
            }
            return 15;
          };
      for (Future<Integer> each : threads.invokeAll(Collections.nCopies(4, caller))) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private long negativeHits(Node node, String outcome) throws Exception {
    String name = "weir_negative_hits_total{outcome=\"" + outcome + "\"} ";
    HttpResponse<String> metrics =
        http.send(
            HttpRequest.newBuilder(URI.create(node.url + "/metrics")).build(),
            HttpResponse.BodyHandlers.ofString());
    List<String> lines = metrics.body().lines().filter(line -> line.startsWith(name)).toList();
    assertEquals(1, lines.size(), metrics::body);
    return (long) Double.parseDouble(lines.get(0).substring(name.length()));
  }

  private void awaitBilled(Fleet fleet, Node node, String client, long units) throws Exception {
    String from = URLEncoder.encode(begin.toString(), StandardCharsets.UTF_8);
    URI report =
        URI.create(
            fleet.reportsUrl() + "/v1/usage?client=" + client + "&window=total&from=" + from);
    List<String> last = new ArrayList<>();
    Await.until(
        () -> client + " should have " + units + " on the bill and not in the bucket: " + last,
        () -> {
          HttpResponse<String> answer =
              http.send(
                  HttpRequest.newBuilder(report).build(), HttpResponse.BodyHandlers.ofString());
          JsonNode row = JSON.readTree(answer.body()).path("data").path(0);
          long left = node.ask(client, 0, false).getLimitRemaining();
          last.clear();
          last.add(answer.body());
          last.add("left " + left);
          return row.path("quantity").asLong(-1) == units && left == CAPACITY - units;
        });
  }

  /** All windows have been closed, with what is on the bill. */
  private void awaitVerified(Fleet fleet, long units) throws Exception {
    Verification[] last = new Verification[1];
    Await.until(
        () -> units + " units in closed windows, not " + last[0],
        () -> {
          last[0] =
              new Verifier(
                      KafkaConnection.to(fleet.kafka()),
                      Fleet.WINDOW,
                      Topics.LATENESS,
                      Await.TIMEOUT)
                  .verify(begin, Instant.now(), null, (what, done, total) -> {});
          return last[0].openWindows() == 0 && last[0].quantity().equals(BigInteger.valueOf(units));
        });
    assertEquals(List.of(), last[0].differences());
    assertEquals(0, last[0].refused());
  }
}
