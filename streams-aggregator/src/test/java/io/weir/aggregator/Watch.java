// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A reader that continuously queries each instance for each client. It records every failed query,
 * and every figure that is less than an earlier figure of any instance.
 *
 * <p>A slow instance reports it: no instance with the partition responded within 5 s, or the figure
 * may be old because Kafka did not respond within 2 s. On a busy machine that is no fault, but it
 * must end by itself. The same request is sent to the same instance until it responds. A test that
 * changes nothing until then has shown that the processes that run can answer.
 */
final class Watch implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * How long an aggregator that is stopped waits for the questions under way; then it cuts them.
   */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

  private static final Duration PAUSE = Duration.ofMillis(10);

  private record Answered(long begunNanos, long endedNanos) {}

  private volatile HttpClient http = newClient();
  private final Traffic traffic;
  private final Map<String, Long> greatest = new ConcurrentHashMap<>();
  private final Map<String, Deque<Answered>> answered = new ConcurrentHashMap<>();
  private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
  private final Queue<String> broken = new ConcurrentLinkedQueue<>();
  private final AtomicLong answers = new AtomicLong();
  private final AtomicLong unreached = new AtomicLong();
  private final Map<Integer, Long> asked = new ConcurrentHashMap<>();
  private final AtomicLong putOff = new AtomicLong();
  private final AtomicLong cutLate = new AtomicLong();
  private final AtomicLong unready = new AtomicLong();
  private final Thread thread = new Thread(this::run, "watch");
  private volatile List<Integer> ports;
  private volatile boolean onlyReady;
  private volatile boolean closed;

  Watch(Traffic traffic, List<Integer> ports) {
    this.traffic = traffic;
    this.ports = List.copyOf(ports);
    thread.start();
  }

  /**
   * From now on others are asked, over new connections: one to a process that stood still for long
   * may be closed by its idle timeout as soon as it goes on, with a question under way.
   */
  void ask(List<Integer> instead) {
    http = newClient();
    ports = List.copyOf(instead);
  }

  private static HttpClient newClient() {
    return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  }

  /** From now on those that say that they are not ready are passed over, as a balancer does. */
  void askOnlyReady() {
    onlyReady = true;
  }

  /** Number of requests to an instance, including the current one. */
  long asked(int port) {
    return asked.getOrDefault(port, 0L);
  }

  private void run() {
    while (!closed) {
      for (String client : traffic.clients()) {
        for (int port : ports) {
          ask(client, port);
          LockSupport.parkNanos(PAUSE.toNanos());
        }
      }
    }
  }

  private void ask(String client, int port) {
    long firstNanos = System.nanoTime();
    for (int attempt = 1; !closed; attempt++) {
      asked.merge(port, 1L, Long::sum);
      long begunNanos = System.nanoTime();
      try {
        if (onlyReady && get(port, "/health/ready").statusCode() != 200) {
          unready.incrementAndGet();
          return;
        }
        HttpResponse<String> response = get(port, traffic.query(client));
        if (!isTooSlow(response)) {
          judge(client, port, response);
          answered
              .computeIfAbsent(client, none -> new ConcurrentLinkedDeque<>())
              .add(new Answered(begunNanos, System.nanoTime()));
          return;
        }
        if (attempt == 1) {
          putOff.incrementAndGet();
        }
        if (System.nanoTime() - firstNanos > Await.TIMEOUT.toNanos()) {
          wrong.add(port + " " + client + ": put off for ever: " + response.body());
          return;
        }
        TimeUnit.NANOSECONDS.sleep(PAUSE.toNanos());
      } catch (JsonProcessingException noDocument) {
        wrong.add(port + " " + client + ": " + noDocument);
        return;
      } catch (ConnectException unreachable) {
        unreached.incrementAndGet(); // a balancer would ask the next one
        return;
      } catch (IOException cut) {
        noteCut(port + " " + client + ": " + cut, System.nanoTime() - begunNanos);
        return;
      } catch (InterruptedException closing) {
        return;
      }
    }
  }

  private void noteCut(String what, long underWayNanos) {
    if (underWayNanos >= STOP_TIMEOUT.toNanos()) {
      cutLate.incrementAndGet();
    } else {
      broken.add(what);
    }
  }

  private static boolean isTooSlow(HttpResponse<String> response) throws IOException {
    JsonNode document = MAPPER.readTree(response.body());
    return switch (response.statusCode()) {
      case 200 -> !document.at("/completeness/up_to_date").asBoolean();
      case 503 -> document.path("reason").asText().equals("partition-unavailable");
      default -> false;
    };
  }

  private void judge(String client, int port, HttpResponse<String> response) throws IOException {
    answers.incrementAndGet();
    if (response.statusCode() != 200) {
      wrong.add(port + " " + client + ": " + response.statusCode() + " " + response.body());
      return;
    }
    long quantity = MAPPER.readTree(response.body()).at("/data/0/quantity").asLong();
    long before = greatest.merge(client, quantity, Math::max);
    if (quantity < before) {
      wrong.add(port + " " + client + ": " + before + " before, now " + response.body());
    }
  }

  private HttpResponse<String> get(int port, String path) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .timeout(Await.TIMEOUT)
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  /** Returns whether there was a response for each client to a request after a time. */
  boolean answeredSince(long nanos) {
    return traffic.clients().stream().allMatch(client -> first(client, nanos).isPresent());
  }

  /**
   * Returns the time from a moment to the first response to a later request, for the client with
   * the longest wait.
   */
  long longestWaitMillis(long nanos) {
    return traffic.clients().stream()
        .mapToLong(client -> first(client, nanos).orElseThrow().endedNanos() - nanos)
        .map(TimeUnit.NANOSECONDS::toMillis)
        .max()
        .orElseThrow();
  }

  private Optional<Answered> first(String client, long nanos) {
    return answered.getOrDefault(client, new ConcurrentLinkedDeque<>()).stream()
        .filter(one -> one.begunNanos() - nanos > 0)
        .findFirst();
  }

  /** The least of the clients' figures. */
  long leastFigure() {
    return traffic.clients().stream()
        .mapToLong(client -> greatest.getOrDefault(client, 0L))
        .min()
        .orElseThrow();
  }

  /** Returns whether an instance reports everything written. */
  boolean isExact(int port) throws Exception {
    for (String client : traffic.clients()) {
      HttpResponse<String> response = get(port, traffic.query(client));
      if (MAPPER.readTree(response.body()).at("/data/0/quantity").asLong() != traffic.perClient()) {
        return false;
      }
    }
    return true;
  }

  /** What was wrong so far; to be put off for ever is, to be put off is not. */
  List<String> wrong() {
    return new ArrayList<>(wrong);
  }

  /**
   * Requests that began and were not answered, without those that were cut when they had been under
   * way for longer than a stop waits for them.
   */
  List<String> broken() {
    return new ArrayList<>(broken);
  }

  /** Requests that were cut when they had been under way for longer than a stop waits for them. */
  long cutLate() {
    return cutLate.get();
  }

  /** Returns how many requests were answered, and how many were not. */
  String summary() {
    return "answers="
        + answers
        + " unreached="
        + unreached
        + " unready="
        + unready
        + " put_off="
        + putOff
        + " cut_late="
        + cutLate
        + " broken="
        + broken.size()
        + " wrong="
        + wrong.size();
  }

  long answers() {
    return answers.get();
  }

  /** Waits until every queried instance has been queried for every client. */
  void awaitRounds() throws Exception {
    long before = answers();
    long round = (long) ports.size() * traffic.clients().size();
    Await.until("two rounds of answers", () -> answers() > before + 2 * round);
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
