// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Found by {@code ./weir chaos}, "all ingest nodes restarted in turn": calls failed. */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
final class StopUnderCallsIT {
  private static final int STOPS = 3;
  private static final int CALLERS = 8;

  @TempDir Path folder;

  @Test
  void stop_underCalls_leavesNoCallerInDoubt() throws Exception {
    Queue<String> doubts = new ConcurrentLinkedQueue<>();
    try (TestKafka kafka = TestKafka.borrow();
        TestRedis redis = TestRedis.borrow();
        TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(2, Optional.empty());
      Map<String, String> environment =
          Map.of(
              "WEIR_SINGLE_COPY",
              "allow",
              "WEIR_KAFKA",
              kafka.bootstrapServers(),
              "WEIR_STOP_DELAY",
              "PT0S",
              "WEIR_REDIS",
              redis.uri(),
              "WEIR_NODE",
              "stopped",
              "WEIR_HTTP_HOST",
              "127.0.0.1",
              "WEIR_HTTP_PORT",
              "0",
              "WEIR_DATA",
              folder.resolve("data").toString(),
              "WEIR_POLICIES",
              Files.writeString(folder.resolve("policies.yml"), "policies: []").toString());
      for (int i = 0; i < STOPS; i++) {
        stopUnderCalls(IngestConfig.of(environment), doubts);
      }
    }

    assertEquals(List.of(), List.copyOf(doubts));
  }

  private static void stopUnderCalls(IngestConfig config, Queue<String> doubts) throws Exception {
    Ingest ingest = Ingest.start(config);
    URI url = URI.create("http://127.0.0.1:" + ingest.httpPort() + "/v1/check");
    CountDownLatch called = new CountDownLatch(CALLERS);
    List<Thread> callers = new ArrayList<>();
    for (int i = 0; i < CALLERS; i++) {
      Thread caller = new Thread(() -> callUntilRejected(url, called, doubts), "caller-" + i);
      caller.start();
      callers.add(caller);
    }
    Await.until("every caller to be answered once", () -> called.getCount() == 0);

    // with a notice that outlasts the slowest caller; an interrupt ends it and skips nothing
    ExecutorService stopping = Executors.newSingleThreadExecutor();
    Future<?> stopped = stopping.submit(() -> ingest.close(Await.TIMEOUT.multipliedBy(2)));
    for (Thread caller : callers) {
      caller.join();
    }
    stopping.shutdownNow();
    stopped.get();
  }

  /** Until the node says that it stops, or is not there: then a caller goes to another one. */
  private static void callUntilRejected(URI url, CountDownLatch called, Queue<String> doubts) {
    HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Await.TIMEOUT)
            .build();
    HttpRequest call =
        HttpRequest.newBuilder(url)
            .timeout(Await.TIMEOUT)
            .POST(HttpRequest.BodyPublishers.ofString("{\"client\":\"a\"}"))
            .build();
    try {
      for (int status = 200; status != 503; called.countDown()) {
        status = http.send(call, HttpResponse.BodyHandlers.ofString()).statusCode();
        if (status != 200 && status != 503) {
          doubts.add("status " + status);
        }
      }
    } catch (ConnectException refused) {
      called.countDown();
    } catch (IOException | InterruptedException broken) {
      called.countDown();
      doubts.add(broken.toString());
    }
  }
}
