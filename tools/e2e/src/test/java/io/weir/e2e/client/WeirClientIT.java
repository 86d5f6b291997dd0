// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.client.Call;
import io.weir.client.Decision;
import io.weir.client.Decision.Allowed;
import io.weir.client.Decision.Cause;
import io.weir.client.Decision.Denied;
import io.weir.client.Decision.Undecided;
import io.weir.client.FailureMode;
import io.weir.client.HeldSlot;
import io.weir.client.Settlement;
import io.weir.client.SlotRelease;
import io.weir.client.SlotRenewal;
import io.weir.client.Verdict;
import io.weir.client.WeirClient;
import io.weir.client.WeirRequestException;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each call is decided in time and counted once, whatever happens to the node that is asked. */
final class WeirClientIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration SHORT = Duration.ofMillis(200);

  @TempDir private static Path folder;
  private static NodeProcesses nodes;

  @BeforeAll
  static void start() throws Exception {
    nodes = NodeProcesses.start(folder);
  }

  @AfterAll
  static void stop() {
    nodes.close();
  }

  private static WeirClient.Builder to(FailureMode mode, URI... addresses) {
    return WeirClient.builder(mode, addresses)
        .token(nodes.token())
        .deadline(Await.TIMEOUT)
        .tryTimeout(Await.TIMEOUT);
  }

  private static WeirClient patient() {
    return to(FailureMode.CLOSED, nodes.addresses()).build();
  }

  private static Verdict allowed(Decision decision) {
    return assertInstanceOf(Allowed.class, decision, decision::toString).verdict();
  }

  private static String position(Verdict verdict) {
    return require(verdict.usagePosition());
  }

  private static <T> T require(@Nullable T value) {
    assertNotNull(value);
    return value;
  }

  /** Returns a client's usage from a report that includes the calls at the positions. */
  private static long counted(String client, String position) throws Exception {
    long sum = 0;
    for (JsonNode row : JSON.readTree(nodes.usage(client, position)).path("data")) {
      sum += row.path("quantity").asLong();
    }
    return sum;
  }

  @Test
  void calls_areAllowedUntilTheLimit_andThenDenied_withWhatTheNodeSays() throws Exception {
    try (WeirClient client = patient()) {
      Call call = Call.of("limited").withEndpoint("GET /few").withCost(2);
      Verdict first = allowed(client.check(call.withId("first")));
      assertEquals("first", first.id());
      assertEquals("cache", first.decidedBy());
      assertEquals("journaled", first.durability());
      assertEquals(3, first.limits().get(0).remaining());
      assertTrue(require(first.fields().get("RateLimit")).startsWith("\"few\";r=3"));
      allowed(client.check(call));

      Denied denied = assertInstanceOf(Denied.class, client.check(call));
      assertEquals(429, denied.status());
      assertEquals("not-enough-tokens", denied.reason());
      assertEquals(List.of("few"), denied.violatedPolicies());
      assertTrue(denied.verdict().retryAfter().toMinutes() >= 50);
      assertTrue(Long.parseLong(require(denied.verdict().fields().get("Retry-After"))) >= 3_000);
      nodes.awaitLines("first", 1);
    }
  }

  @Test
  void apiKey_namesItsClient_unknownKeyIsRefused() {
    try (WeirClient client = patient()) {
      assertEquals("acme", allowed(client.check(Call.ofApiKey(NodeProcesses.KEY))).client());

      Decision refused = client.check(Call.ofApiKey("weir_nobody").withId("none"));
      assertInstanceOf(Decision.KeyRefused.class, refused);
      assertEquals("none", refused.id());
    }
  }

  @Test
  void wrongMember_isAnExceptionThatNamesIt_andNotADecision() {
    try (WeirClient client = to(FailureMode.OPEN, nodes.addresses()).build()) {
      WeirRequestException wrong =
          assertThrows(
              WeirRequestException.class,
              () -> client.check(Call.of("acme").withEndpoint("x".repeat(300))));

      assertEquals(400, wrong.status());
      assertEquals("invalid-member", wrong.reason());
      assertEquals("endpoint", wrong.field());
    }
  }

  @Test
  void wrongToken_isAnException_andDoesNotOpen() {
    try (WeirClient client =
        to(FailureMode.OPEN, nodes.addresses()).token("weir_not-one").build()) {
      WeirRequestException refused =
          assertThrows(WeirRequestException.class, () -> client.check(Call.of("acme")));

      assertEquals(401, refused.status());
      assertEquals("token-refused", refused.reason());
    }
  }

  @Test
  void noNode_isDecidedByTheMode() throws Exception {
    URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
    try (WeirClient open = to(FailureMode.OPEN, nobody).build();
        WeirClient closed = to(FailureMode.CLOSED, nobody).build()) {
      Undecided passes = assertInstanceOf(Undecided.class, open.check(Call.of("acme")));
      assertTrue(passes.isAllowed());
      assertEquals(Cause.UNREACHABLE, passes.cause());

      Undecided refused = assertInstanceOf(Undecided.class, closed.check(Call.of("acme")));
      assertTrue(!refused.isAllowed());
    }
  }

  @Test
  void nodeThatIsNotThere_isPassedOver() throws Exception {
    URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
    try (WeirClient client = to(FailureMode.CLOSED, nobody, nodes.address(1)).build()) {
      for (int i = 0; i < 4; i++) {
        allowed(client.check(Call.of("passed-over")));
      }
    }
  }

  @Test
  void pausedNode_aloneThere_isDecidedByTheMode_inTime() throws Exception {
    nodes.pause(0);
    try (WeirClient open =
        WeirClient.builder(FailureMode.OPEN, nodes.address(0))
            .token(nodes.token())
            .deadline(SHORT)
            .build()) {
      Undecided passes = assertInstanceOf(Undecided.class, open.check(Call.of("acme")));
      assertTrue(passes.isAllowed());
      assertEquals(Cause.TIMEOUT, passes.cause());
    } finally {
      nodes.resume(0);
    }
  }

  @Test
  void retriedCall_isInKafkaTwiceWhenBothNodesHaveIt_andCountedOnce() throws Exception {
    try (WeirClient client = to(FailureMode.CLOSED, nodes.addresses()).tryTimeout(SHORT).build()) {
      List<Decision> decided = new ArrayList<>();
      nodes.pause(0);
      try {
        // at least one of two calls in turn is asked of the paused node first
        for (int i = 0; i < 2; i++) {
          decided.add(client.check(Call.of("retried").withCost(7)));
        }
      } finally {
        nodes.resume(0);
      }

      // the paused node goes on with the requests that it has got
      Await.until(
          "a call that both nodes have recorded",
          () -> nodes.linesOf(decided.get(0).id()) == 2 || nodes.linesOf(decided.get(1).id()) == 2);
      // what comes behind them on both nodes is counted behind them
      for (int i = 0; i < NodeProcesses.COUNT; i++) {
        try (WeirClient last = to(FailureMode.CLOSED, nodes.address(i)).build()) {
          Verdict verdict = allowed(last.check(Call.of("retried").withCost(1)));
          counted("retried", position(verdict));
          decided.add(new Allowed(verdict));
        }
      }
      for (Decision decision : decided) {
        assertEquals(
            7 + 7 + 1 + 1, counted("retried", position(allowed(decision))), decided::toString);
      }
    }
  }

  @Test
  void nodeKilledUnderCalls_everyCallIsDecidedByANode_andCountedOnce() throws Exception {
    int calls = 400;
    try (WeirClient client = to(FailureMode.CLOSED, nodes.addresses()).maxTries(20).build()) {
      List<CompletableFuture<Decision>> asked = new ArrayList<>();
      for (int i = 0; i < calls; i++) {
        asked.add(client.checkAsync(Call.of("survivor")));
        if (i == calls / 2) {
          nodes.kill(0);
        }
      }
      List<Verdict> verdicts = new ArrayList<>();
      for (CompletableFuture<Decision> call : asked) {
        verdicts.add(allowed(call.get()));
      }
      // the journal of the killed node has calls whose answers were lost, and a line behind them
      nodes.start(0);
      try (WeirClient last = to(FailureMode.CLOSED, nodes.address(0)).build()) {
        verdicts.add(allowed(last.check(Call.of("survivor"))));
      }
      for (Verdict verdict : verdicts) {
        counted("survivor", position(verdict));
      }
      assertEquals(calls + 1, counted("survivor", position(verdicts.get(calls))), "each call once");
    }
  }

  /** A client whose batches are sent because they are full, or not at all while a test waits. */
  private static WeirClient lingering(int size) {
    return to(FailureMode.OPEN, nodes.addresses())
        .deadline(Await.TIMEOUT.multipliedBy(3))
        .batches(Await.TIMEOUT.multipliedBy(2), size)
        .build();
  }

  private static <T> T answer(CompletableFuture<T> future) throws Exception {
    return future.get(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Test
  void batches_decideEachCallByItself_andTellTheWrongOne() throws Exception {
    try (WeirClient client = lingering(8)) {
      List<CompletableFuture<Decision>> asked = new ArrayList<>();
      for (int i = 0; i < 7; i++) {
        asked.add(client.checkAsync(Call.of("batched").withEndpoint("GET /few").withId("b" + i)));
      }
      CompletableFuture<Decision> wrong = client.checkAsync(Call.of("y".repeat(300)));

      for (int i = 0; i < 5; i++) {
        Verdict verdict = allowed(answer(asked.get(i)));
        assertEquals("b" + i, verdict.id());
        assertNotNull(verdict.usagePosition());
        // which a single check has
        assertEquals(Map.of(), verdict.fields());
      }
      for (int i = 5; i < 7; i++) {
        Denied denied = assertInstanceOf(Denied.class, answer(asked.get(i)));
        assertEquals(429, denied.status());
        assertTrue(Long.parseLong(require(denied.verdict().fields().get("Retry-After"))) >= 3_000);
      }
      ExecutionException thrown = assertThrows(ExecutionException.class, () -> answer(wrong));
      WeirRequestException told = assertInstanceOf(WeirRequestException.class, thrown.getCause());
      assertEquals("client", told.field());
      assertEquals(400, told.status());
    }
  }

  @Test
  void batchesOfLargeCalls_areSmallerThanANodeRefuses() throws Exception {
    Call large = Call.of("large");
    for (int i = 0; i < 60; i++) {
      large = large.withAttribute("attribute-" + i, "x".repeat(1_000));
    }
    List<CompletableFuture<Decision>> asked = new ArrayList<>();
    try (WeirClient client = lingering(40)) {
      for (int i = 0; i < 40; i++) {
        asked.add(client.checkAsync(large));
      }
      answer(CompletableFuture.runAsync(client::close));
    }
    for (CompletableFuture<Decision> call : asked) {
      allowed(answer(call));
    }
  }

  @Test
  void close_sendsWhatWaits_andWaitsForTheAnswers() throws Exception {
    WeirClient client = lingering(1_000);
    List<CompletableFuture<Decision>> asked = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      asked.add(client.checkAsync(Call.of("drained").withId("drained-" + i)));
    }

    answer(CompletableFuture.runAsync(client::close));

    for (CompletableFuture<Decision> call : asked) {
      assertTrue(call.isDone());
      allowed(call.get());
    }
  }

  /** Regression: the JDK completes the futures of requests in the common pool. */
  @Test
  void commonPoolOfTheJvmIsBlocked_callsAreDecided() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    ForkJoinPool pool = ForkJoinPool.commonPool();
    try (WeirClient client = patient()) {
      // more than it has threads: what comes behind them waits
      for (int i = 0; i < pool.getParallelism() + 64; i++) {
        pool.execute(
            () -> {
              try {
                end.await();
              } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
              }
            });
      }
      Await.until("a pool that is blocked", pool::hasQueuedSubmissions);

      allowed(client.check(Call.of("beside-the-pool")));
    } finally {
      end.countDown();
    }
  }

  @Test
  void moreUnderWayThanAllowed_isRefusedInEveryMode() throws Exception {
    nodes.pause(1);
    try (WeirClient client = to(FailureMode.OPEN, nodes.address(1)).maxUnderWay(1).build()) {
      CompletableFuture<Decision> first = client.checkAsync(Call.of("acme"));
      Undecided second = assertInstanceOf(Undecided.class, client.check(Call.of("acme")));
      assertEquals(Cause.OVERLOADED, second.cause());
      assertTrue(!second.isAllowed());

      nodes.resume(1);
      allowed(first.get());
      allowed(client.check(Call.of("acme")));
    } finally {
      nodes.resume(1);
    }
  }

  @Test
  void settledCall_isBilledAtItsActualCost_once() throws Exception {
    try (WeirClient client = patient()) {
      Verdict verdict = allowed(client.check(Call.of("settled").withId("or/de r").withCost(5)));
      Await.until(
          "the settlement",
          () ->
              client.settle(verdict, 8).get() instanceof Settlement.Settled settled
                  && settled.cost() == 5
                  && settled.actualCost() == 8);

      assertEquals(new Settlement.Settled(5, 8, false), client.settle(verdict, 8).get());
      assertEquals(8, counted("settled", position(verdict)));
      Settlement other = client.settle("settled", "or/de r", 9).get();
      assertEquals("settled-before", assertInstanceOf(Settlement.Refused.class, other).reason());
    }
  }

  @Test
  void slot_isHeldUntilItIsReleased() throws Exception {
    try (WeirClient client = patient()) {
      Call call = Call.of("slots").withEndpoint("GET /single");
      HeldSlot slot = require(allowed(client.check(call)).slot());
      assertEquals("no-slot-free", assertInstanceOf(Denied.class, client.check(call)).reason());

      HeldSlot renewed =
          assertInstanceOf(SlotRenewal.Renewed.class, client.renew(slot).get()).slot();
      assertEquals(SlotRelease.RELEASED, client.release(renewed).get());
      assertEquals(SlotRelease.ALREADY_FREE, client.release(renewed).get());
      allowed(client.check(call));
    }
  }
}
