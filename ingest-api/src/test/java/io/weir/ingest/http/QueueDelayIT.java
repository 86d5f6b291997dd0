// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.testing.Await;
import io.weir.topics.model.CallEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Callers of batches, which occupy a thread each, that are more than a node serves while Redis
 * stands still in rounds: some are shed for the wait of the others, all that were served are
 * recorded, and shedding ends with the crowd.
 */
@Timeout(value = 15, unit = TimeUnit.MINUTES)
final class QueueDelayIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Time for which call threads are blocked while Redis does not reply. */
  private static final Duration DECISION_DEADLINE = Duration.ofMinutes(1);

  private static final Duration TARGET = Duration.ofMillis(50);

  /** Fewer than the batches that a node takes at once. */
  private static final int CROWD = 60;

  private static final int ROUNDS = 3;

  private final Set<String> served = new HashSet<>();
  private final Set<String> shed = new HashSet<>();
  private final List<Caller> callers = new ArrayList<>();
  private FewThreadsNode node;

  @BeforeEach
  void start(@TempDir Path folder) throws Exception {
    node = new FewThreadsNode(folder, DECISION_DEADLINE, TARGET);
  }

  @AfterEach
  void stop() {
    for (Caller caller : callers) {
      caller.close();
    }
    node.close();
  }

  @Test
  void longQueueDelay_shedsCalls_untilTheLoadIsGone() throws Exception {
    for (int i = 0; i < CROWD; i++) {
      callers.add(new Caller(i));
    }
    // how many calls a round sheds depends on how fast the callers come back, so rounds are added
    for (int i = 0; i < ROUNDS || shed() < ROUNDS * CROWD; i++) {
      double decided = node.decided();
      Await.until("decisions by Redis", () -> node.decided() > decided + CROWD);
      node.redis().pause();
      Await.until("calls that wait too long", () -> node.statistics.shedShare() > 0.5);
      node.redis().resume();
    }
    assertEquals(0, node.statistics.shed(HttpStatistics.Shed.CALLS_UNDER_WAY).count());
    // some are served however many are shed
    Await.until(
        "every caller to be served",
        () -> callers.stream().allMatch(caller -> caller.served.get() > 0));

    for (Caller caller : callers.subList(1, CROWD)) {
      caller.close();
    }
    Await.until("the end of shedding", () -> node.statistics.shedShare() == 0);
    Await.until(
        "a hundred calls in a row that are served", () -> callers.get(0).inARow.get() >= 100);
    callers.get(0).close();

    assertRecordedOnce();
  }

  private double shed() {
    return node.statistics.shed(HttpStatistics.Shed.QUEUE_DELAY).count();
  }

  private void assertRecordedOnce() throws Exception {
    for (Caller caller : callers) {
      caller.tell();
    }
    Set<String> recorded = new HashSet<>();
    for (CallEvent call : node.stopAndReadCalls()) {
      assertTrue(recorded.add(call.id()), () -> call.id() + " is recorded twice");
    }
    assertEquals(served, recorded);
    assertFalse(shed.isEmpty());
  }

  /** Calls on a connection of its own as soon as it is answered, with an id for each call. */
  private final class Caller implements AutoCloseable {
    private final Queue<String> servedIds = new ConcurrentLinkedQueue<>();
    private final Queue<String> shedIds = new ConcurrentLinkedQueue<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final AtomicLong served = new AtomicLong();
    private final AtomicLong inARow = new AtomicLong();
    private final Thread thread = new Thread(this::run, "crowd");
    private final int number;
    private volatile boolean stopped;

    Caller(int number) {
      this.number = number;
      thread.start();
    }

    private void run() {
      try {
        RawHttp connection = node.connect();
        for (int n = 0; !stopped; n++) {
          RawHttp.Answer answer = call(connection, number + "-" + n);
          if ("close".equals(answer.headers().get("connection"))) {
            connection.close();
            connection = node.connect();
          }
        }
        connection.close();
      } catch (IOException | RuntimeException | AssertionError failed) {
        failures.add(failed);
      }
    }

    private RawHttp.Answer call(RawHttp connection, String id) throws IOException {
      String body = "[{\"client\":\"client-" + number % 10 + "\",\"id\":\"" + id + "\"}]";
      connection.send(
          "POST /v1/check/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
              + body.length()
              + "\r\n\r\n"
              + body);
      RawHttp.Answer answer = connection.answer();
      if (answer.status() == 200) {
        servedIds.add(id);
        served.incrementAndGet();
        inARow.incrementAndGet();
      } else {
        assertShed(answer);
        shedIds.add(id);
        inARow.set(0);
      }
      return answer;
    }

    private void assertShed(RawHttp.Answer answer) throws IOException {
      assertEquals(503, answer.status(), answer.toString());
      assertTrue(
          Set.of("1", "2", "3").contains(answer.headers().getOrDefault("retry-after", "none")),
          answer.toString());
      JsonNode problem = JSON.readTree(answer.body());
      assertTrue(
          problem.path("type").asText().endsWith("#temporary-reduced-capacity"), answer.body());
    }

    void tell() {
      assertEquals(List.of(), List.copyOf(failures));
      QueueDelayIT.this.served.addAll(servedIds);
      shed.addAll(shedIds);
    }

    @Override
    public void close() {
      stopped = true;
      try {
        thread.join(Await.TIMEOUT.toMillis());
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
