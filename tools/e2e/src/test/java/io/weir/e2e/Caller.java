// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Callers that keep their own truth: the id and the verdict of every call that was answered. */
final class Caller {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int THREADS = 8;
  private static final int CLIENTS = 20;
  private static final long NOBODY_THERE_PAUSE_NANOS = 10_000_000;

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Await.TIMEOUT)
          .build();
  private final Map<String, Boolean> answered = new ConcurrentHashMap<>();
  private final AtomicLong unanswered = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();
  private final AtomicBoolean stopping = new AtomicBoolean();
  private final List<Thread> threads = new ArrayList<>();
  private final Supplier<String> checkUrl;

  /** Callers of the check API at an address that may change. */
  Caller(Supplier<String> checkUrl) {
    this.checkUrl = checkUrl;
  }

  void start() {
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      Thread thread = new Thread(() -> callUntilStopped(number), "caller-" + i);
      thread.start();
      threads.add(thread);
    }
  }

  private void callUntilStopped(int thread) {
    for (long n = 0; !stopping.get(); n++) {
      call(thread, n);
    }
  }

  private void call(int thread, long n) {
    String client = "client-" + (thread * 7L + n) % CLIENTS;
    // every other call brings its own id; the others are known by the id they are answered with
    String id = n % 2 == 0 ? ",\"id\":\"own-" + thread + "-" + n + "\"" : "";
    String endpoint = n % 3 == 0 ? "POST /v1/orders" : "GET /v1/items";
    String body =
        "{\"client\":\""
            + client
            + "\",\"endpoint\":\""
            + endpoint
            + "\",\"cost\":"
            + (1 + n % 3)
            + id
            + "}";
    try {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(checkUrl.get()))
                  .timeout(Await.TIMEOUT)
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() == 200 || answer.statusCode() == 429) {
        JsonNode json = JSON.readTree(answer.body());
        answered.put(client + "/" + json.path("id").asText(), json.path("allowed").asBoolean());
      } else {
        refused.incrementAndGet();
      }
    } catch (ConnectException nobodyThere) {
      LockSupport.parkNanos(NOBODY_THERE_PAUSE_NANOS);
    } catch (IOException connectionBroken) {
      unanswered.incrementAndGet();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  void stop() throws InterruptedException {
    stopping.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** The verdict of every answered call, by client and id. */
  Map<String, Boolean> answered() {
    return Map.copyOf(answered);
  }

  /** Waits until so many more calls are answered by a process that lives. */
  void awaitAnswered(int more, WeirProcess weir) throws Exception {
    int count = answered.size() + more;
    for (int before = answered.size(); before < count; before = answered.size()) {
      int last = before;
      Await.until(
          () -> "another answer after " + last,
          () -> {
            assertTrue(weir.isAlive(), () -> "the process ended: " + weir.errors());
            return answered.size() > last;
          });
    }
  }

  /** Calls that got no answer: whether they were recorded, nobody told. */
  long unanswered() {
    return unanswered.get();
  }

  /** Calls answered with another status. */
  long refused() {
    return refused.get();
  }
}
