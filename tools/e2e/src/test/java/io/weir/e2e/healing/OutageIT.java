// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.verify.Verification;
import io.weir.cli.verify.Verifier;
import io.weir.e2e.healing.Rule.Place;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Redis does not answer for a while, and comes back with what it had. */
final class OutageIT {
  private static final int CLIENTS = 40;
  private static final double CALLS_PER_SECOND = 400;
  private static final long DEBT_CAP_TOKENS = 5;

  /** Enough for every bucket that is let through to owe more than its cap. */
  private static final long CALLS_WITHOUT_REDIS = Lengths.of(2_500, 12_000);

  private static final long CALLS_AFTERWARDS = 4 * (long) CALLS_PER_SECOND;

  /** Next to nothing is refilled, however slowly the calls are answered. */
  private static final Duration REFILL = Duration.ofMinutes(1);

  private static final Rule OPEN = Rule.bucket("open", "GET /open", 20, REFILL).debtCap(1_000);
  private static final Rule CAPPED =
      Rule.bucket("capped", "GET /capped", 5, REFILL).debtCap(DEBT_CAP_TOKENS);
  private static final Rule CLOSED =
      Rule.bucket("closed", "GET /closed", 20, REFILL).onCacheFailure("closed");
  private static final Rule LOCAL =
      Rule.bucket("local", "GET /local", 20, REFILL).onCacheFailure("local").debtCap(1_000);
  private static final Rule MONTHLY = Rule.quota("monthly", "GET /quota", 1_000_000);
  private static final List<Rule> RULES = List.of(OPEN, CAPPED, CLOSED, LOCAL, MONTHLY);
  private static final List<String> ENDPOINTS =
      List.of("GET /open", "GET /capped", "GET /closed", "GET /local", "GET /quota");

  @TempDir private Path folder;

  private static Load.Call call(long n) {
    int endpoint = (int) (n % ENDPOINTS.size());
    return new Load.Call("client-" + n / ENDPOINTS.size() % CLIENTS, ENDPOINTS.get(endpoint), 1);
  }

  private static List<Place> places(Rule rule) {
    long now = System.currentTimeMillis();
    return IntStream.range(0, CLIENTS).mapToObj(i -> rule.place("client-" + i, now)).toList();
  }

  @Test
  void redisDown_callsAreBilled_debitedToTheDebtCap_quotasExact() throws Exception {
    Instant begun = Instant.now();
    List<Place> watched = Stream.of(OPEN, CAPPED, LOCAL).flatMap(r -> places(r).stream()).toList();
    try (Fleet fleet = Fleet.start(folder, RULES, 2);
        RedisEye eye = new RedisEye(fleet.redis().uri());
        CallTopic topic = new CallTopic(fleet.kafka());
        Load load = Load.on(fleet, 16, CALLS_PER_SECOND, OutageIT::call)) {
      load.start().awaitAnswered((long) (3 * CALLS_PER_SECOND));

      fleet.route().pointNowhere();
      long awayAtMillis = System.currentTimeMillis();
      load.awaitAnswered(CALLS_WITHOUT_REDIS);
      long backAtMillis = System.currentTimeMillis();
      List<KeptBucket> seen;
      try (BucketWatch watch = BucketWatch.start(fleet.redis().uri(), watched)) {
        fleet.route().pointTo(fleet.redis().uri());
        load.awaitAnswered(CALLS_AFTERWARDS);
        load.stop();
        Standing.awaitRight(new Oracle(RULES, topic.through(System.currentTimeMillis(), 2)), eye);
        seen = watch.stop();
      }

      List<CallEvent> calls = topic.through(System.currentTimeMillis(), 2);
      System.out.println("outage: " + load);
      Oracle oracle = new Oracle(RULES, calls);
      assertPoliciesDecided(calls, awayAtMillis, backAtMillis);
      assertDebtIsOwed(seen);
      Standing.awaitRight(oracle, eye);
      assertBilled(fleet.kafka(), begun, calls);
    }
  }

  private static void assertPoliciesDecided(List<CallEvent> calls, long from, long to) {
    List<CallEvent> during =
        calls.stream()
            // Redis may have decided in the millisecond in which it went away
            .filter(call -> call.decidedAtEpochMillis() > from && call.decidedAtEpochMillis() < to)
            .toList();
    assertTrue(
        during.size() > CALLS_WITHOUT_REDIS / 2,
        () -> "hardly a call during the outage: " + during.size());
    for (CallEvent call : during) {
      DecidedBy expected =
          switch (call.endpoint()) {
            case "GET /closed" -> DecidedBy.FAIL_CLOSED;
            case "GET /local" -> DecidedBy.LOCAL;
            default -> DecidedBy.FAIL_OPEN;
          };
      assertEquals(expected, call.decidedBy(), call::toString);
    }
    assertTrue(
        during.stream()
            .filter(call -> call.decidedBy() == DecidedBy.FAIL_OPEN)
            .allMatch(CallEvent::allowed));
  }

  /** With what was let through meanwhile, buckets go below zero, and no further than the cap. */
  private static void assertDebtIsOwed(List<KeptBucket> seen) {
    assertTrue(
        lowest(seen, "capped") >= -(double) DEBT_CAP_TOKENS - 1e-6,
        () -> "a bucket went below its debt cap: " + lowest(seen, "capped"));
    assertTrue(
        lowest(seen, "capped") < 2 - DEBT_CAP_TOKENS,
        () -> "no bucket reached its debt cap: " + lowest(seen, "capped"));
    assertTrue(lowest(seen, "local") > -1_000);
  }

  private static double lowest(List<KeptBucket> seen, String policy) {
    return seen.stream()
        .filter(kept -> kept.bucket().endsWith(":" + policy))
        .mapToDouble(KeptBucket::levelTokens)
        .min()
        .orElseThrow();
  }

  private static void assertBilled(String kafka, Instant begun, List<CallEvent> calls)
      throws Exception {
    Verifier verifier =
        new Verifier(KafkaConnection.to(kafka), Fleet.WINDOW, Topics.LATENESS, Await.TIMEOUT);
    Instant to = Instant.now();
    long allowed = calls.stream().filter(CallEvent::allowed).count();
    Verification[] last = new Verification[1];
    Await.until(
        () -> last[0] + ", allowed by the audit log are " + allowed,
        () -> {
          last[0] = verifier.verify(begun.minusSeconds(60), to, null, (what, done, total) -> {});
          return last[0].allowed() == allowed && last[0].differences().isEmpty();
        });
  }
}
