// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * Callers over real HTTP at a steady pace, each call to the next node; they keep their own truth of
 * what they were answered.
 */
final class Load implements AutoCloseable {
  private static final Duration REQUEST_TIMEOUT = Await.TIMEOUT;
  private static final long AFTER_NO_ANSWER_NANOS = 10_000_000;

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Await.TIMEOUT)
          .build();
  private final IntFunction<String> nodes;
  private final int nodeCount;
  private final int threadCount;
  private final long nanosBetweenCalls;
  private final Plan plan;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicBoolean stopping = new AtomicBoolean();
  private final AtomicLong next = new AtomicLong();
  private final Map<String, LongAdder> allowedTokens = new ConcurrentHashMap<>();
  private final LongAdder allowed = new LongAdder();
  private final LongAdder denied = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder unanswered = new LongAdder();

  /** What is called. */
  record Call(String client, String endpoint, long cost) {
    private String json() {
      return "{\"client\":\""
          + client
          + "\",\"endpoint\":\""
          + endpoint
          + "\",\"cost\":"
          + cost
          + "}";
    }
  }

  /** Names the n-th call, n from 0. */
  interface Plan {
    Call call(long n);
  }

  /**
   * Callers that have not begun.
   *
   * @param nodes the URL of a node; asked before each call, since a node may return elsewhere
   * @param callsPerSecond of all threads together
   */
  Load(IntFunction<String> nodes, int nodeCount, int threads, double callsPerSecond, Plan plan) {
    this.nodes = nodes;
    this.nodeCount = nodeCount;
    this.threadCount = threads;
    this.nanosBetweenCalls = (long) (threads * 1e9 / callsPerSecond);
    this.plan = plan;
  }

  /** Callers of a fleet's nodes. */
  static Load on(Fleet fleet, int threads, double callsPerSecond, Plan plan) {
    List<String> urls = fleet.nodeUrls();
    return new Load(urls::get, urls.size(), threads, callsPerSecond, plan);
  }

  Load start() {
    for (int i = 0; i < threadCount; i++) {
      Thread thread = new Thread(this::callUntilStopped, "load-" + i);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
    return this;
  }

  private void callUntilStopped() {
    long due = System.nanoTime();
    while (!stopping.get()) {
      call();
      due = Math.max(due + nanosBetweenCalls, System.nanoTime() - nanosBetweenCalls);
      for (long left = due - System.nanoTime();
          left > 0 && !stopping.get();
          left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }

  private void call() {
    long n = next.getAndIncrement();
    Call call = plan.call(n);
    try {
      int status = send(nodes.apply((int) (n % nodeCount)), call);
      switch (status) {
        case 200 -> {
          allowed.increment();
          allowedTokens
              .computeIfAbsent(call.client() + " " + call.endpoint(), key -> new LongAdder())
              .add(call.cost());
        }
        case 429 -> denied.increment();
        default -> refused.increment();
      }
    } catch (IOException broken) {
      unanswered.increment();
      LockSupport.parkNanos(AFTER_NO_ANSWER_NANOS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private int send(String node, Call call) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(URI.create(node + "/v1/check"))
                .timeout(REQUEST_TIMEOUT)
                .POST(HttpRequest.BodyPublishers.ofString(call.json()))
                .build(),
            HttpResponse.BodyHandlers.discarding())
        .statusCode();
  }

  /** Stops, and waits for the calls under way. */
  Load stop() throws InterruptedException {
    stopping.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    return this;
  }

  /** Waits until so many calls more have been answered. */
  void awaitAnswered(long more) throws Exception {
    long goal = answered() + more;
    for (long before = answered(); before < goal; before = answered()) {
      long last = before;
      Await.until(() -> "another answer after " + last, () -> answered() > last);
    }
  }

  /** Tokens of the calls answered 200, by client and endpoint with a space between. */
  Map<String, Long> allowedTokens() {
    return allowedTokens.entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().sum()));
  }

  /** Calls answered 200 or 429. */
  long answered() {
    return allowed.sum() + denied.sum();
  }

  long allowed() {
    return allowed.sum();
  }

  long denied() {
    return denied.sum();
  }

  /** Calls answered otherwise, 503 as a rule. */
  long refused() {
    return refused.sum();
  }

  /** Calls without an answer: nobody told whether they were recorded. */
  long unanswered() {
    return unanswered.sum();
  }

  @Override
  public String toString() {
    return String.format(
        "allowed=%d denied=%d refused=%d unanswered=%d",
        allowed(), denied(), refused(), unanswered());
  }

  @Override
  public void close() {
    try {
      stop();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
