// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.weir.limits.BucketKey;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Waiting checks of batch requests do not delay single checks, and single checks do not starve
 * them.
 */
final class BatchFairnessIT {
  private static final int MANY = 300;
  private static final TokenBucketLimit BURST = new TokenBucketLimit(1_000, 1, 1_000_000);

  /** A check that reads 62 keys, so that two do not fit into one script call. */
  private static Check ofBatch(int number) {
    SlidingWindow window = new SlidingWindow(1_000, 3_600, 60);
    PeriodicLimit.Span span = window.at(System.currentTimeMillis(), ClientCalendar.OF_POLICY);
    String bucket = BucketKey.inPeriod("w1:{batch" + number + "}:window", span);
    return new Check(List.of(new BucketRequest(bucket, window.in(span), true)), 1).asPartOfBatch();
  }

  private static Check single(int number) {
    String bucket = BucketKey.of("burst", "single" + number).text();
    return new Check(List.of(new BucketRequest(bucket, BURST, true)), 1);
  }

  /** Makes Redis delay scripts until {@link #resume}. */
  private static void pause(RedisCommands<String, String> commands) {
    client(commands, "PAUSE", "180000", "WRITE");
  }

  private static void resume(RedisCommands<String, String> commands) {
    client(commands, "UNPAUSE");
  }

  private static void client(RedisCommands<String, String> commands, String... words) {
    CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
    for (String word : words) {
      arguments.add(word);
    }
    assertEquals(
        "OK",
        commands.dispatch(CommandType.CLIENT, new StatusOutput<>(StringCodec.UTF8), arguments));
  }

  @Test
  void submit_singleCheckBehindManyOfABatch_isDecidedBeforeThem() throws Exception {
    AtomicInteger batchChecksDecided = new AtomicInteger();
    try (TestRedis redis = TestRedis.borrow();
        RedisClient other = RedisClient.create(redis.uri());
        RedisDecisionCache cache =
            RedisDecisionCache.start(PatientConfig.of(redis).withQueue(4_096, 64, 1))) {
      assertInstanceOf(Decision.Allowed.class, cache.take(single(0)));
      RedisCommands<String, String> commands = other.connect().sync();
      // the next calls wait in Redis, and more checks wait in the queue
      pause(commands);
      List<CompletableFuture<Decision>> batch = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        CompletableFuture<Decision> decision = cache.submit(ofBatch(i));
        var unused = decision.thenRun(batchChecksDecided::incrementAndGet);
        batch.add(decision);
      }
      List<CompletableFuture<Integer>> before = new ArrayList<>();
      for (int i = 1; i <= 20; i++) {
        before.add(cache.submit(single(i)).thenApply(decision -> batchChecksDecided.get()));
      }

      resume(commands);
      for (CompletableFuture<Integer> each : before) {
        int decided = each.join();
        assertTrue(decided <= 3, decided + " checks of the batch were decided before a single");
      }
      for (CompletableFuture<Decision> each : batch) {
        assertInstanceOf(Decision.Allowed.class, each.join());
      }
      assertEquals(MANY, batchChecksDecided.get());
    }
  }

  @Test
  void submit_checkOfABatchBehindManySingleOnes_hasItsTurn() throws Exception {
    AtomicInteger singlesDecided = new AtomicInteger();
    try (TestRedis redis = TestRedis.borrow();
        RedisClient other = RedisClient.create(redis.uri());
        RedisDecisionCache cache =
            RedisDecisionCache.start(PatientConfig.of(redis).withQueue(4_096, 8, 1))) {
      assertInstanceOf(Decision.Allowed.class, cache.take(single(0)));
      RedisCommands<String, String> commands = other.connect().sync();
      pause(commands);
      List<CompletableFuture<Decision>> singles = new ArrayList<>();
      for (int i = 0; i < MANY; i++) {
        CompletableFuture<Decision> decision = cache.submit(single(i));
        var unused = decision.thenRun(singlesDecided::incrementAndGet);
        singles.add(decision);
      }
      CompletableFuture<Integer> turn =
          cache.submit(ofBatch(0)).thenApply(decision -> singlesDecided.get());
      resume(commands);
      int before = turn.join();

      assertTrue(before <= 5 * 8, before + " single checks were decided before it");
      for (CompletableFuture<Decision> each : singles) {
        assertInstanceOf(Decision.Allowed.class, each.join());
      }
    }
  }
}
