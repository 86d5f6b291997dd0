// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static io.weir.decision.redis.ScriptRunner.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Large values that another program has stored under the key of a bucket. */
class ForeignValueIT {
  private static final int VALUE_BYTES = 8 << 20;
  private static final Check CHECK =
      new Check(List.of(new BucketRequest("a", new TokenBucketLimit(10, 10, 1_000_000), true)), 1);

  private TestRedis redis;
  private ScriptRunner runner;

  @BeforeEach
  void start() throws Exception {
    redis = TestRedis.start();
    runner = new ScriptRunner(redis.uri());
    runner.setClock(1_800_000_000_000_000L);
    runner.redis().set(bytes("a"), new byte[VALUE_BYTES]);
  }

  @AfterEach
  void stop() {
    runner.close();
    redis.close();
  }

  private long memory(String member) {
    return runner
        .redis()
        .info("memory")
        .lines()
        .filter(line -> line.startsWith(member + ":"))
        .mapToLong(line -> Long.parseLong(line.substring(member.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  private static void assertCorrupt(Decision decision) {
    assertEquals(
        Decision.Cause.CORRUPT, assertInstanceOf(Decision.Undecided.class, decision).cause());
  }

  /** Regression: every check copied the whole value into the script. */
  @Test
  void take_foreignValue_isNotReadByTheScript() {
    assertCorrupt(runner.take(CHECK));

    assertTrue(memory("used_memory_lua") < VALUE_BYTES / 2, "the script has read the value");
  }

  /** Regression: a batch of one client copied the value once for each of its checks. */
  @Test
  void take_batchOfOneClient_readsAForeignValueOnce() {
    long before = memory("used_memory_peak");
    runner
        .decide(Collections.nCopies(50, CHECK), Collections.nCopies(50, false))
        .forEach(ForeignValueIT::assertCorrupt);

    assertTrue(memory("used_memory_peak") < before + 10L * VALUE_BYTES, "it was read repeatedly");
    assertArrayEquals(new byte[VALUE_BYTES], runner.redis().get(bytes("a")));
  }

  /** GETRANGE does not distinguish an empty value from a missing key. */
  @Test
  void take_emptyValue_countsAsNoValue() {
    runner.redis().set(bytes("a"), new byte[0]);

    assertInstanceOf(Decision.Allowed.class, runner.take(CHECK));
    runner.redis().set(bytes("a"), new byte[0]);
    runner
        .decide(Collections.nCopies(10, CHECK), Collections.nCopies(10, false))
        .forEach(decision -> assertInstanceOf(Decision.Allowed.class, decision));
    assertInstanceOf(Decision.Denied.class, runner.take(CHECK));
  }
}
