// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.healing.Rule.Place;
import io.weir.limits.TokenBucketLimit;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Redis forgets everything while a thousand clients call. */
final class FlushIT {
  private static final int CLIENTS = 1_000;
  private static final int THREADS = 16;
  private static final double CALLS_PER_SECOND = 1_000;
  private static final int FLUSHES = Lengths.of(1, 10);

  /**
   * Enough to take most of what the buckets hold. Where the time to heal is asserted, enough also
   * for all code on the way to be compiled, which takes half of the machine till then.
   */
  private static final int CALLS_BEFORE_A_FLUSH = Lengths.of(6_000, 20_000, 20_000);

  private static final int CALLS_AFTER_A_FLUSH = Lengths.of(3_000, 12_000, 4_000);

  private static final long QUOTA_TOKENS = 3;

  private static final Rule BURST =
      Rule.bucket("burst", "GET *", 10, Lengths.of(Duration.ofMinutes(2), Duration.ofSeconds(2)))
          .debtCap(100);
  private static final Rule MONTHLY =
      Rule.quota("monthly", "POST *", QUOTA_TOKENS).onCacheFailure("closed").onColdCacheHold();

  @TempDir private Path folder;

  /**
   * Every client calls both endpoints in turn, half of them this one while the others that one; a
   * GET costs more than a bucket gains meanwhile, however slowly the calls are answered.
   */
  private static Load.Call call(long n) {
    String client = "client-" + n * 7 % CLIENTS;
    return (n / CLIENTS + n) % 2 == 0
        ? new Load.Call(client, "GET /v1/items", 3)
        : new Load.Call(client, "POST /v1/orders", 1);
  }

  @Test
  void flushUnderLoad_bucketsAreRightAgain_andHeldQuotasNeverOveradmit() throws Exception {
    List<Rule> rules = List.of(BURST, MONTHLY);
    long now = System.currentTimeMillis();
    List<Place> bursts =
        IntStream.range(0, CLIENTS).mapToObj(i -> BURST.place("client-" + i, now)).toList();
    List<Long> flushedAtMicros = new ArrayList<>();
    List<List<KeptBucket>> seen = new ArrayList<>();
    try (Fleet fleet = Fleet.start(folder, rules, 2);
        RedisEye eye = new RedisEye(fleet.redis().uri());
        CallTopic topic = new CallTopic(fleet.kafka())) {
      for (int i = 0; i < FLUSHES; i++) {
        try (Load load = Load.on(fleet, THREADS, CALLS_PER_SECOND, FlushIT::call);
            BucketWatch watch = BucketWatch.start(fleet.redis().uri(), bursts)) {
          load.start().awaitAnswered(CALLS_BEFORE_A_FLUSH);
          flushedAtMicros.add(eye.flush());
          load.awaitAnswered(CALLS_AFTER_A_FLUSH);
          load.stop();
          System.out.println("flush: " + load);
          assertEquals(0, load.unanswered(), load::toString);
          Standing.awaitRight(new Oracle(rules, topic.through(System.currentTimeMillis(), 2)), eye);
          seen.add(watch.stop());
        }
      }

      Oracle oracle = new Oracle(rules, topic.through(System.currentTimeMillis(), 2));
      for (int i = 0; i < FLUSHES; i++) {
        HealTimes times = HealTimes.of(oracle, seen.get(i), flushedAtMicros.get(i));
        System.out.println("flush: " + times);
        assertTrue(times.disturbed() > CLIENTS / 4, () -> "hardly disturbed: " + times);
        assertEquals(List.of(), times.neverHealed().stream().limit(5).toList());
        Lengths.assertHealedInTime(times);
      }
      assertAdmittedWithinTheBound(oracle);
    }
  }

  private static void assertAdmittedWithinTheBound(Oracle oracle) {
    long usedUp = 0;
    for (String bucket : oracle.buckets()) {
      long admitted = oracle.admittedTokens(bucket);
      if (oracle.place(bucket).limit() instanceof TokenBucketLimit limit) {
        double bound =
            (double) limit.capacityTokens() * (1 + FLUSHES)
                + (double) oracle.spanMicros(bucket) / limit.refillPeriodMicros()
                + 1;
        assertTrue(
            (double) admitted <= bound, () -> bucket + " admitted " + admitted + " > " + bound);
      } else {
        assertTrue(admitted <= QUOTA_TOKENS, () -> bucket + " admitted " + admitted);
        usedUp += admitted == QUOTA_TOKENS ? 1 : 0;
      }
    }
    assertTrue(usedUp > CLIENTS / 4, "hardly any quota was used up: " + usedUp);
  }
}
