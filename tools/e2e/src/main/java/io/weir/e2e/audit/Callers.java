// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Callers that send calls over HTTP at a constant rate, each call to the next node. Every second
 * call has its own id. If a call with its own id gets no verdict, the caller sends the call again
 * to the other node. If a call was certainly not recorded, the caller always sends it again. A node
 * that stops or refuses calls gets no calls for a second, as behind a load balancer.
 */
final class Callers implements AutoCloseable {
  /**
   * Timeout of a call, after which the caller tries another node. The timeout is longer than the
   * pauses of a process on a busy machine.
   */
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

  private static final ObjectMapper JSON = new ObjectMapper();

  /** Maximum number of concurrent calls. */
  static final int THREADS = 8;

  private static final int CLIENTS_A_ROUND = 6;
  private static final int TRIES = 3;

  /** Suffix of endpoints. It makes lines long, so a journal soon reaches its maximum size. */
  private static final String LONG = "/" + "x".repeat(200);

  /**
   * Maximum number of tries of a call that was certainly not recorded. With pauses, all tries take
   * about 2 s.
   */
  private static final int SAFE_TRIES = 100;

  private static final long AFTER_NO_ANSWER_NANOS = 20_000_000;

  /** Time for which a node that stops or is unreachable gets no calls. */
  private static final long AVOIDED_NANOS = 1_000_000_000;

  private final String token;
  private final long nanosBetweenCalls;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(1))
          .build();
  private final Map<String, Long> avoidedUntil = new ConcurrentHashMap<>();
  private final List<Thread> threads = new ArrayList<>();
  private final AtomicLong next = new AtomicLong();
  private volatile boolean stopping;
  private volatile Round round;

  /**
   * A period with its own clients, so that each error can be attributed to the disturbance of the
   * period.
   */
  record Round(int number, Truth truth, List<String> checkUrls) {
    Round {
      checkUrls = List.copyOf(checkUrls);
    }

    /** Starts a round whose calls go to these addresses. */
    static Round begin(int number, List<String> checkUrls) {
      return new Round(number, new Truth(), checkUrls);
    }

    /** Returns the client of the n-th call. */
    String client(long n) {
      return "round-" + number + "-" + n % CLIENTS_A_ROUND;
    }
  }

  /** The result of a try. */
  private enum Try {
    VERDICT,
    SURELY_NOT_RECORDED,
    UNKNOWN
  }

  Callers(Round first, String token, int callsPerSecond) {
    this.token = token;
    this.round = first;
    this.nanosBetweenCalls = THREADS * 1_000_000_000L / callsPerSecond;
  }

  void start() {
    for (int i = 0; i < THREADS; i++) {
      Thread thread = new Thread(this::callUntilStopped, "caller-" + i);
      thread.setDaemon(true);
      thread.start();
      threads.add(thread);
    }
  }

  /** Returns the round of new calls. */
  Round round() {
    return round;
  }

  /** Assigns new calls to this round. Calls of the previous round may still be in progress. */
  void begin(Round begun) {
    round = begun;
  }

  private void callUntilStopped() {
    long due = System.nanoTime();
    while (!stopping) {
      call(next.getAndIncrement(), round);
      due = Math.max(due + nanosBetweenCalls, System.nanoTime() - nanosBetweenCalls);
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
            + LONG
            + "\",\"cost\":"
            + (1 + n % 3)
            + (ownId == null ? "" : ",\"id\":\"" + ownId + "\"")
            + "}";
    int unknown = 0;
    for (int i = 0; i < SAFE_TRIES; i++) {
      of.truth().begins(client);
      String url = url(of, n + i);
      Try ended = send(url, client, body, of.truth());
      if (ended == Try.VERDICT) {
        return;
      }
      unknown += ended == Try.UNKNOWN ? 1 : 0;
      if (unknown > 0 && (ownId == null || unknown == TRIES)) {
        break;
      }
      LockSupport.parkNanos(AFTER_NO_ANSWER_NANOS);
    }
    of.truth().failed();
  }

  private String url(Round of, long n) {
    int nodes = of.checkUrls().size();
    for (int i = 0; i < nodes; i++) {
      String url = of.checkUrls().get((int) ((n + i) % nodes));
      Long until = avoidedUntil.get(url);
      if (until == null || System.nanoTime() - until > 0) {
        return url;
      }
    }
    return of.checkUrls().get((int) (n % nodes));
  }

  private void avoid(String url) {
    avoidedUntil.put(url, System.nanoTime() + AVOIDED_NANOS);
  }

  private Try send(String url, String client, String body, Truth truth) {
    try {
      HttpResponse<String> answer =
          http.send(
              Requests.to(url, token)
                  .timeout(TIMEOUT)
                  .POST(HttpRequest.BodyPublishers.ofString(body))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() != 200 && answer.statusCode() != 429) {
        return refused(url, answer, truth);
      }
      JsonNode json = JSON.readTree(answer.body());
      if (json.path("durability").asText().equals("dropped")) {
        truth.dropped();
      } else {
        truth.answered(client, json.path("id").asText(), json.path("allowed").asBoolean());
      }
      return Try.VERDICT;
    } catch (ConnectException | HttpConnectTimeoutException notConnected) {
      avoid(url);
      truth.withoutVerdict("not connected", false);
      return Try.SURELY_NOT_RECORDED;
    } catch (HttpTimeoutException silent) {
      truth.withoutVerdict("no answer in time", true);
      return Try.UNKNOWN;
    } catch (IOException broken) {
      truth.withoutVerdict("connection broken", true);
      return Try.UNKNOWN;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      truth.withoutVerdict("interrupted", true);
      return Try.UNKNOWN;
    }
  }

  private Try refused(String url, HttpResponse<String> answer, Truth truth) throws IOException {
    JsonNode problem = JSON.readTree(answer.body());
    String detail = problem.path("detail").asText();
    if (answer.statusCode() == 503
        && (detail.contains("stopping") || detail.contains("(CLOSING)"))) {
      avoid(url);
      truth.withoutVerdict("503 stopping", false);
      return Try.SURELY_NOT_RECORDED;
    }
    if (problem.path("reason").asText().equals("overloaded")) {
      avoid(url);
      truth.withoutVerdict("503 shed", false);
      return Try.SURELY_NOT_RECORDED;
    }
    if (answer.statusCode() == 503 && detail.contains("(FULL)")) {
      truth.withoutVerdict(Truth.FULL, false);
      return Try.SURELY_NOT_RECORDED;
    }
    boolean isNotWritten = detail.contains("(WRITE_FAILED)");
    truth.withoutVerdict(
        isNotWritten ? Truth.NOT_WRITTEN : answer.statusCode() + " " + detail, true);
    return Try.UNKNOWN;
  }

  /** Stops the callers, and waits for the calls in progress. */
  void stop() throws InterruptedException {
    stopping = true;
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** Stops the callers. Does not wait for the calls in progress. */
  @Override
  public void close() {
    stopping = true;
  }
}
