// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.DecisionCache;
import io.weir.decision.DecisionCacheContract;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests the contract of decision caches for the memory cache, with a clock that the test sets. */
class MemoryDecisionCacheTest extends DecisionCacheContract {
  private static final TokenBucketLimit TEN_PER_SECOND = new TokenBucketLimit(10, 10, 1_000_000);

  private final AtomicLong nowEpochMicros = new AtomicLong(1_800_000_000_000_000L);
  private final MemoryDecisionCache cache = new MemoryDecisionCache(nowEpochMicros::get);

  @Override
  protected DecisionCache cache() {
    return cache;
  }

  @Override
  protected void setWarm(boolean warm) {
    cache.setWarm(warm);
  }

  @Override
  protected long nowEpochMicros() {
    return nowEpochMicros.get();
  }

  private static Check check(String bucket, long cost) {
    return new Check(List.of(new BucketRequest(bucket, TEN_PER_SECOND, true)), cost);
  }

  @Test
  void take_afterTheRetryTime_isAllowedAndNotBefore() {
    cache.take(check("a", 10));
    Decision.Denied denied = assertInstanceOf(Decision.Denied.class, cache.take(check("a", 1)));
    long retryAfterMicros = denied.buckets().get(0).retryAfterMicros();

    nowEpochMicros.addAndGet(retryAfterMicros - 1);
    assertInstanceOf(Decision.Denied.class, cache.take(check("a", 1)));
    nowEpochMicros.addAndGet(1);
    assertInstanceOf(Decision.Allowed.class, cache.take(check("a", 1)));
  }

  @Test
  void take_clockStepsFarBack_emptyBucketRefillsAtItsRate() {
    cache.take(check("a", 10));
    nowEpochMicros.addAndGet(-7_200_000_000L);
    assertInstanceOf(Decision.Denied.class, cache.take(check("a", 1)));

    nowEpochMicros.addAndGet(100_000);
    assertInstanceOf(Decision.Allowed.class, cache.take(check("a", 1)));
    assertInstanceOf(Decision.Denied.class, cache.take(check("a", 1)));
  }

  @Test
  void take_bucketExpired_beginsANewEpoch() {
    Decision.Allowed first = assertInstanceOf(Decision.Allowed.class, cache.take(check("a", 1)));
    nowEpochMicros.addAndGet(3_600_000_000L);
    Decision.Allowed later = assertInstanceOf(Decision.Allowed.class, cache.take(check("a", 1)));

    assertTrue(later.buckets().get(0).epoch() > first.buckets().get(0).epoch());
    assertEquals(1, later.buckets().get(0).chargedTokens());
  }

  @Test
  void take_manyClientsOverTime_keepsNoMoreBucketsThanLive() {
    for (int i = 0; i < 100_000; i++) {
      cache.take(check("client-" + i, 1));
      nowEpochMicros.addAndGet(100_000);
    }

    // a bucket expires after 10.1 s, in which 101 clients arrive; expired buckets are removed at
    // 1,024 buckets
    assertTrue(cache.bucketCount() <= 1_025, () -> cache.bucketCount() + " buckets");
  }

  @Test
  void take_moreClientsThanItKeeps_forgetsThoseFullSoonest() {
    MemoryDecisionCache bounded = new MemoryDecisionCache(nowEpochMicros::get, 100);
    for (int i = 0; i < 1_000; i++) {
      bounded.take(check("{" + i + "}", i % 2 == 0 ? 1 : 10));
    }

    assertEquals(100, bounded.bucketCount());
    assertEquals(900, bounded.forgottenBuckets());
    long lacksMuch =
        IntStream.range(0, 1_000).filter(i -> i % 2 == 1 && bounded.has("{" + i + "}")).count();
    // with random evictions, half of them would remain
    assertTrue(lacksMuch >= 80, () -> lacksMuch + " of 100");
  }

  @Test
  void take_oneClientHasMostBuckets_forgetsOnlyItsBuckets() {
    MemoryDecisionCache bounded = new MemoryDecisionCache(nowEpochMicros::get, 100);
    for (int i = 0; i < 30; i++) {
      bounded.take(check("{" + i + "}burst", 1));
    }
    for (int i = 0; i < 10_000; i++) {
      bounded.take(check("{inventor}" + i, 9));
    }

    assertEquals(100, bounded.bucketCount());
    for (int i = 0; i < 30; i++) {
      assertTrue(bounded.has("{" + i + "}burst"), "client " + i);
    }
  }

  @Test
  void take_atTheBound_removesFullBucketsFirst() {
    MemoryDecisionCache bounded = new MemoryDecisionCache(nowEpochMicros::get, 40);
    for (int i = 0; i < 20; i++) {
      bounded.take(check("{" + i + "}", 1));
    }
    nowEpochMicros.addAndGet(3_600_000_000L);
    for (int i = 0; i < 30; i++) {
      bounded.take(check("{pair" + i / 2 + "}" + i, 1));
    }

    assertEquals(40, bounded.bucketCount());
    assertEquals(0, bounded.forgottenBuckets());
  }

  @Test
  void take_atTheBound_removedFullBucketsDoNotCountAsForgotten() {
    MemoryDecisionCache bounded = new MemoryDecisionCache(nowEpochMicros::get, 4);
    for (int i = 0; i < 100; i++) {
      bounded.take(check("{" + i + "}", 1));
      nowEpochMicros.addAndGet(3_600_000_000L);
    }

    assertEquals(4, bounded.bucketCount());
    assertEquals(0, bounded.forgottenBuckets());
  }

  @Test
  void take_afterClear_beginsFull() {
    MemoryDecisionCache bounded = new MemoryDecisionCache(nowEpochMicros::get, 4);
    bounded.take(check("a", 10));
    bounded.clear();

    assertEquals(0, bounded.bucketCount());
    assertInstanceOf(Decision.Allowed.class, bounded.take(check("a", 10)));
  }

  @Test
  void new_boundTooSmall_isRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> new MemoryDecisionCache(nowEpochMicros::get, 0));
  }
}
