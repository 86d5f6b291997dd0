// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.StillDenied.Shortage;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the merged decision of a check that is split over several servers. */
class SplitCheckTest {
  private static final BucketReply NO = new BucketReply(false, 0, 1_000, 1_000, 0, 0, 0, false);
  private static final Decision DENIED = new Decision.Denied(1, List.of(NO), 0, false);
  private static final Decision STILL_DENIED =
      new Decision.StillDenied(List.of(new Shortage(0, NO)));
  private static final Decision NO_ANSWER =
      new Decision.Undecided(Decision.Cause.TIMEOUT, "no answer");

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final RedisCacheConfig config = RedisCacheConfig.of("redis://127.0.0.1:6379");

  /** A cache that is not started, and gets no checks. */
  private final RedisDecisionCache server =
      RedisDecisionCache.ofServer(
          config, LinkTarget.of(config), new CacheStatistics(registry), new ColdSignal(), registry);

  private final Check whole =
      new Check(
          List.of(
              new BucketRequest("w1:{*7:reports}@slots", new ConcurrencyLimit(1, 100_000), true),
              new BucketRequest("w1:{4:acme}:5:burst", new TokenBucketLimit(1, 1, 1_000), true)),
          1,
          SlotClaim.of("acme", "made"));

  @AfterEach
  void close() {
    server.close();
  }

  /**
   * Regression: a slot that the undecided server had taken, or had not given back, was never
   * released.
   */
  @Test
  void refusalOfOneServer_saysThatAnotherHasNotAnswered() {
    for (Decision refusal : List.of(DENIED, STILL_DENIED)) {
      assertEquals(
          new Decision.StillDenied(List.of(new Shortage(1, NO)), true), merge(NO_ANSWER, refusal));
      assertEquals(
          new Decision.StillDenied(List.of(new Shortage(0, NO)), true), merge(refusal, NO_ANSWER));
    }
    assertEquals(
        new Decision.StillDenied(List.of(new Shortage(1, NO)), false),
        merge(new Decision.Allowed(1, List.of(NO)), STILL_DENIED));
    assertEquals(NO_ANSWER, merge(NO_ANSWER, Failures.MOVED));
  }

  private Decision merge(Decision ofSlots, Decision ofClient) {
    return new SplitCheck(whole, List.of(part(0), part(1))).merge(List.of(ofSlots, ofClient));
  }

  private SplitCheck.Part part(int bucket) {
    return new SplitCheck.Part(
        server, whole.of(List.of(whole.buckets().get(bucket))), List.of(bucket));
  }
}
