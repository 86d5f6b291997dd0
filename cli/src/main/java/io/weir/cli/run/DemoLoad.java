// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** Sends real HTTP calls of several clients, and counts the responses independently of Weir. */
final class DemoLoad {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);

  /**
   * Extra time for which a greedy caller continues if the machine is too slow to exceed a limit.
   */
  private static final Duration GREED = Duration.ofMinutes(1);

  /**
   * One kind of caller. The pause between two calls determines whether the caller exceeds its
   * limit.
   *
   * @param greedy whether the caller sends calls without a pause until a call is denied
   */
  private record Caller(String client, String endpoint, Duration pause, boolean greedy) {}

  private static final List<Caller> CALLERS =
      List.of(
          new Caller("acme", "GET /v1/items", Duration.ofMillis(5), true),
          new Caller("acme", "GET /v1/orders", Duration.ofMillis(20), false),
          new Caller("globex", "GET /v1/items", Duration.ofMillis(100), false),
          new Caller("initech", "POST /v1/orders", Duration.ofMillis(25), false));

  private final HttpClient http = HttpClient.newHttpClient();
  private final URI check;
  private final Map<String, Answers> answers = new ConcurrentHashMap<>();
  private final AtomicReference<@Nullable HttpResponse<String>> denied = new AtomicReference<>();
  private final LongAdder unexpected = new LongAdder();

  /** Counts of the responses that one client received. */
  static final class Answers {
    final LongAdder allowed = new LongAdder();
    final LongAdder denied = new LongAdder();
  }

  DemoLoad(String checkUrl) {
    this.check = URI.create(checkUrl + "/v1/check");
  }

  /**
   * Sends calls for the given time.
   *
   * @param elapsedMillis receives the elapsed time every 200 ms
   */
  void run(Duration length, LongConsumer elapsedMillis) throws InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(CALLERS.size());
    long begun = System.nanoTime();
    long end = begun + length.toNanos();
    try {
      for (Caller caller : CALLERS) {
        threads.execute(() -> callUntil(caller, end));
      }
      threads.shutdown();
      while (!threads.awaitTermination(200, TimeUnit.MILLISECONDS)) {
        elapsedMillis.accept(Math.min(length.toMillis(), (System.nanoTime() - begun) / 1_000_000));
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private void callUntil(Caller caller, long endNanos) {
    try {
      while (System.nanoTime() < endNanos || isUnsatisfied(caller, endNanos)) {
        call(caller);
        if (!isUnsatisfied(caller, endNanos)) {
          TimeUnit.NANOSECONDS.sleep(caller.pause().toNanos());
        }
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isUnsatisfied(Caller caller, long endNanos) {
    return caller.greedy()
        && denied.get() == null
        && System.nanoTime() < endNanos + GREED.toNanos();
  }

  private void call(Caller caller) throws InterruptedException {
    try {
      String body =
          JSON.writeValueAsString(Map.of("client", caller.client(), "endpoint", caller.endpoint()));
      HttpResponse<String> response =
          http.send(
              HttpRequest.newBuilder(check)
                  .timeout(REQUEST_TIMEOUT)
                  .header("Content-Type", "application/json")
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      Answers of = answers.computeIfAbsent(caller.client(), unseen -> new Answers());
      switch (response.statusCode()) {
        case 200 -> of.allowed.increment();
        case 429 -> {
          of.denied.increment();
          denied.compareAndSet(null, response);
        }
        default -> unexpected.increment();
      }
    } catch (IOException failed) {
      unexpected.increment();
    }
  }

  /** Returns the counts of responses by client name. */
  Map<String, Answers> answers() {
    return new TreeMap<>(answers);
  }

  long allowed() {
    return answers.values().stream().mapToLong(of -> of.allowed.sum()).sum();
  }

  long denied() {
    return answers.values().stream().mapToLong(of -> of.denied.sum()).sum();
  }

  /**
   * Returns the number of responses with a status other than 200 and 429, plus calls without a
   * response.
   */
  long unexpected() {
    return unexpected.sum();
  }

  /** Returns the response to the first denied call, or null if none was denied. */
  @Nullable HttpResponse<String> firstDenied() {
    return denied.get();
  }
}
