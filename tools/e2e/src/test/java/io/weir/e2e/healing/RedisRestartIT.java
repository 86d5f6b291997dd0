// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Redis is killed in mid-load and started again, over its append-only file or over nothing. */
final class RedisRestartIT {
  private static final int CLIENTS = 40;
  private static final double CALLS_PER_SECOND = 300;
  private static final int KILLS = Lengths.of(1, 10);
  private static final long AFTER_A_KILL = 4 * (long) CALLS_PER_SECOND;

  private static final Rule BURST =
      Rule.bucket("burst", "GET *", 30, Duration.ofSeconds(1)).debtCap(1_000);
  private static final Rule MONTHLY = Rule.quota("monthly", "*", 1_000_000);
  private static final Rule HELD =
      Rule.quota("held", "POST *", 1_000).onCacheFailure("closed").onColdCacheHold();
  private static final List<Rule> RULES = List.of(BURST, MONTHLY, HELD);

  @TempDir private Path folder;

  @Test
  void redisKilledAndRestartedWithAppendOnlyFile_everyBucketIsRightAgainAndQuotasAreExact()
      throws Exception {
    assertHealsAfterKills("--appendonly", "yes", "--appendfsync", "everysec");
  }

  @Test
  @FullSuite(reason = "over an append-only file it always runs, and FlushIT empties Redis")
  void redisKilledAndRestartedEmpty_everyBucketIsRightAgainAndQuotasAreExact() throws Exception {
    assertHealsAfterKills("--appendonly", "no");
  }

  private static Load.Call call(long n) {
    return new Load.Call(
        "client-" + n / 2 % CLIENTS, n % 2 == 0 ? "GET /v1/items" : "POST /v1/orders", 1 + n % 3);
  }

  private void assertHealsAfterKills(String... redisOptions) throws Exception {
    try (Fleet fleet = Fleet.start(folder, RULES, 2, redisOptions);
        CallTopic topic = new CallTopic(fleet.kafka());
        Load load = Load.on(fleet, 8, CALLS_PER_SECOND, RedisRestartIT::call)) {
      load.start().awaitAnswered((long) (3 * CALLS_PER_SECOND));

      for (int i = 0; i < KILLS; i++) {
        fleet.killAndRestartRedis();
        load.awaitAnswered(AFTER_A_KILL);
      }
      load.stop();

      System.out.println("restart: " + load);
      Oracle oracle = new Oracle(RULES, topic.through(System.currentTimeMillis(), 2));
      try (RedisEye eye = new RedisEye(fleet.redis().uri())) {
        Standing.awaitRight(oracle, eye);
      }
      assertTrue(load.allowed() > 0 && load.unanswered() == 0, load::toString);
    }
  }
}
