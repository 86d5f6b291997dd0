// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Callers over real HTTP, each call to the next node, at a steady pace. Every other call brings its
 * own id, and is repeated at the other node when it gets no verdict, as a careful caller does.
 */
final class Callers implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int THREADS = 8;
  private static final int CLIENTS_A_ROUND = 6;
  private static final int TRIES = 3;
  private static final double CALLS_PER_SECOND = 300;
  private static final long NANOS_BETWEEN_CALLS = (long) (THREADS * 1e9 / CALLS_PER_SECOND);
  private static final long AFTER_NO_ANSWER_NANOS = 20_000_000;

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(1))
          .build();
  private final List<String> checkUrls;
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong next = new AtomicLong();
  private volatile boolean stopping;
  private volatile Round round;

  /**
   * A stretch of time with clients of its own, so that what went wrong can be told from what was
   * done.
   */
  record Round(int number, Truth truth) {
    static Round begin(int number) {
      return new Round(number, new Truth());
    }

    /** The client of the n-th call. */
    String client(long n) {
      return "round-" + number + "-" + n % CLIENTS_A_ROUND;
    }
  }

  Callers(List<String> checkUrls, Round first) {
    this.checkUrls = List.copyOf(checkUrls);
    this.round = first;
  }

  void start() {
    for (int i = 0; i < THREADS; i++) {
      Thread thread = new Thread(this::callUntilStopped, "caller-" + i);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
  }

  /** The round that calls are of now. */
  Round round() {
    return round;
  }

  /** From now on calls are of this round; some of the one before may still be under way. */
  void begin(Round begun) {
    round = begun;
  }

  private void callUntilStopped() {
    long due = System.nanoTime();
    while (!stopping) {
      call(next.getAndIncrement(), round);
      due = Math.max(due + NANOS_BETWEEN_CALLS, System.nanoTime() - NANOS_BETWEEN_CALLS);
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }

  private void call(long n, Round of) {
    String client = of.client(n);
    String ownId = n % 2 == 0 ? "own/" + n : null;
    String body =
        "{\"client\":\""
            + client
            + "\",\"endpoint\":\""
            + (n % 3 == 0 ? "POST /v1/orders" : "GET /v1/items")
            + "\",\"cost\":"
            + (1 + n % 3)
            + (ownId == null ? "" : ",\"id\":\"" + ownId + "\"")
            + "}";
    int tries = ownId == null ? 1 : TRIES;
    for (int i = 0; i < tries; i++) {
      of.truth().begins(client);
      if (send(checkUrls.get((int) ((n + i) % checkUrls.size())), client, body, of.truth())) {
        return;
      }
      of.truth().untold();
      LockSupport.parkNanos(AFTER_NO_ANSWER_NANOS);
    }
  }

  /** Whether there was a verdict. */
  private boolean send(String url, String client, String body, Truth truth) {
    try {
      HttpResponse<String> answer =
          http.send(
              HttpRequest.newBuilder(URI.create(url))
                  .timeout(Duration.ofSeconds(5))
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() != 200 && answer.statusCode() != 429) {
        return false;
      }
      JsonNode json = JSON.readTree(answer.body());
      truth.answered(client, json.path("id").asText(), json.path("allowed").asBoolean());
      return true;
    } catch (IOException broken) {
      return false;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Stops, and waits for the calls under way. */
  void stop() throws InterruptedException {
    stopping = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** Stops; does not wait for the calls under way. */
  @Override
  public void close() {
    stopping = true;
  }
}
