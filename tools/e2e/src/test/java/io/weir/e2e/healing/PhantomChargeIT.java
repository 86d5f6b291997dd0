// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.e2e.healing.Rule.Place;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.Correction;
import io.weir.servers.testing.CorrectionTopic;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Charges without a record, as a node leaves behind that is killed between charge and journal: made
 * here directly, through the cache's own port, since a kill seldom hits that moment.
 */
final class PhantomChargeIT {
  private static final int CLIENTS = 50;
  private static final int ROUNDS = Lengths.of(2, 40);
  private static final long PHANTOM_TOKENS = 6;
  private static final int CALLS_PER_SECOND_AND_CLIENT = 4;
  private static final long BETWEEN_ROUNDS = 3L * CALLS_PER_SECOND_AND_CLIENT * CLIENTS;

  /** Refills as fast as it is asked, so that only a phantom charge that is kept could empty it. */
  private static final Rule BURST =
      Rule.bucket(
              "burst", "GET *", 40, Duration.ofSeconds(1).dividedBy(CALLS_PER_SECOND_AND_CLIENT))
          .debtCap(400);

  private static final Rule MONTHLY = Rule.quota("monthly", "GET *", 1_000_000);

  @TempDir private Path folder;

  @Test
  void phantomCharges_underLoad_areCreditedExactlyOnce() throws Exception {
    List<Rule> rules = List.of(BURST, MONTHLY);
    long now = System.currentTimeMillis();
    List<Place> places =
        IntStream.range(0, CLIENTS)
            .mapToObj(i -> "client-" + i)
            .flatMap(client -> Stream.of(BURST.place(client, now), MONTHLY.place(client, now)))
            .toList();
    try (Fleet fleet = Fleet.start(folder, rules, 2);
        RedisEye eye = new RedisEye(fleet.redis().uri());
        CallTopic topic = new CallTopic(fleet.kafka());
        RedisDecisionCache crashing =
            RedisDecisionCache.start(
                RedisCacheConfig.of(fleet.redis().uri()).withDeadline(Duration.ofSeconds(20)));
        Load load =
            Load.on(
                fleet,
                8,
                (double) CALLS_PER_SECOND_AND_CLIENT * CLIENTS,
                n -> new Load.Call("client-" + n % CLIENTS, "GET /v1/items", 1));
        BucketWatch watch = BucketWatch.start(fleet.redis().uri(), places)) {
      load.start().awaitAnswered(2 * CLIENTS);

      for (int round = 0; round < ROUNDS; round++) {
        for (Place place : places) {
          Decision charged =
              crashing.take(
                  new Check(
                      List.of(new BucketRequest(place.key(), place.limit(), true)),
                      PHANTOM_TOKENS));
          assertInstanceOf(Decision.Allowed.class, charged);
        }
        load.awaitAnswered(BETWEEN_ROUNDS);
      }
      load.stop();

      Oracle oracle = new Oracle(rules, topic.through(System.currentTimeMillis(), 2));
      Standing.awaitRight(oracle, eye);
      assertEquals(List.of(), Standing.tooFull(oracle, watch.stop()).stream().limit(5).toList());
      Map<String, Long> drift = new HashMap<>();
      for (Correction correction :
          new CorrectionTopic(fleet.kafka(), Fleet.PARTITIONS).corrections()) {
        drift.put(correction.bucket(), correction.driftTokens());
      }
      for (Place place : places) {
        assertEquals(-ROUNDS * PHANTOM_TOKENS, drift.get(place.key()), place::key);
      }
    }
  }
}
