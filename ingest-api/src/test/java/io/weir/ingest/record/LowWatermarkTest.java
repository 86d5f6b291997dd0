// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class LowWatermarkTest {
  private final AtomicLong now = new AtomicLong(1_000_050);
  private final LowWatermark watermark = new LowWatermark(now::get);

  @Test
  void advance_nothingInProgress_isStartOfThisBucket() {
    assertEquals(1_000_000, watermark.advance());
  }

  @Test
  void advance_callInProgress_staysAtItsBucket() {
    long begun = watermark.begin();
    now.set(1_003_480);

    assertEquals(1_000_000, watermark.advance());

    watermark.end(begun);
    assertEquals(1_003_400, watermark.advance());
  }

  @Test
  void advance_severalInProgress_isTheOldest() {
    long first = watermark.begin();
    now.set(1_000_250);
    long second = watermark.begin();
    now.set(1_000_350);

    watermark.end(first);
    assertEquals(1_000_200, watermark.advance());

    watermark.end(second);
    assertEquals(1_000_300, watermark.advance());
  }

  @Test
  void begin_clockBehindTheWatermark_beginsAtTheWatermark() {
    assertEquals(1_000_000, watermark.advance());
    now.set(990_000);

    long begun = watermark.begin();

    assertEquals(1_000_000, begun);
    now.set(1_000_900);
    assertEquals(1_000_000, watermark.advance());
    watermark.end(begun);
  }

  @Test
  void advance_clockSetBack_doesNotFall() {
    assertEquals(1_000_000, watermark.advance());
    now.set(5_000);

    assertEquals(1_000_000, watermark.advance());
  }

  @Test
  void advance_callOlderThanTheRing_isNoLongerWaitedFor() {
    long forgotten = watermark.begin();
    now.addAndGet(2L * LowWatermark.BUCKETS * LowWatermark.BUCKET_MILLIS + 150);

    assertTrue(watermark.advance() > forgotten);
    assertEquals(1, watermark.countInProgress());
  }

  @Test
  void advance_manyThreads_neverPassesACallInProgress() throws Exception {
    // the clock runs a bucket each few steps, so that begin and advance meet at bucket ends often;
    // a thread that sleeps while the clock runs through the whole ring is late by design
    long ringMillis = (LowWatermark.BUCKETS - 1L) * LowWatermark.BUCKET_MILLIS;
    AtomicLong clock = new AtomicLong(10_000_000);
    LowWatermark shared = new LowWatermark(() -> clock.addAndGet(7));
    AtomicLong newestWatermark = new AtomicLong();
    ConcurrentSkipListSet<Long> broken = new ConcurrentSkipListSet<>();
    AtomicInteger working = new AtomicInteger(6);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> done = new ArrayList<>();
      for (int t = 0; t < 6; t++) {
        done.add(
            threads.submit(
                () -> {
                  // until the watermark has been seen to move
                  for (int i = 0; i < 100_000 || newestWatermark.get() <= 10_000_000; i++) {
                    long begun = shared.begin();
                    // a call is decided between begin and end, and so at or after its beginning
                    long decided = Math.max(begun, clock.get() - 50);
                    if (newestWatermark.get() > decided && clock.get() - begun < ringMillis) {
                      broken.add(decided);
                    }
                    shared.end(begun);
                  }
                  working.decrementAndGet();
                }));
      }
      for (int t = 0; t < 2; t++) {
        done.add(
            threads.submit(
                () -> {
                  while (working.get() > 0) {
                    newestWatermark.accumulateAndGet(shared.advance(), (a, b) -> Math.max(a, b));
                  }
                }));
      }
      for (Future<?> each : done) {
        each.get();
      }
    } finally {
      threads.shutdownNow();
    }
    assertTrue(
        broken.isEmpty(), () -> "the watermark passed calls in progress, decided at " + broken);
    assertEquals(0, shared.countInProgress());
    assertTrue(newestWatermark.get() > 10_000_000);
  }
}
