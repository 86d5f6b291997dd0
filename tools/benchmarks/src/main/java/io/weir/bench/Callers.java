// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import org.HdrHistogram.Histogram;

/**
 * Concurrent callers in a closed loop: each caller sends its next call when it has received a
 * response.
 */
final class Callers {
  private static final long HIGHEST_NANOS = 60_000_000_000L;
  private static final int FIRST_WITH_VIRTUAL_THREADS = 21;

  private Callers() {}

  /** One call for a key. */
  interface Call {
    void on(int key);
  }

  /** The result of a run. */
  record Result(String name, double callsPerSecond, long p50Micros, long p99Micros) {
    static Result of(String name, Histogram nanos, Duration length) {
      return new Result(
          name,
          nanos.getTotalCount() * 1e9 / length.toNanos(),
          nanos.getValueAtPercentile(50) / 1_000,
          nanos.getValueAtPercentile(99) / 1_000);
    }

    @Override
    public String toString() {
      return String.format(
          "%-34s %,10.0f/s   p50 %,7d µs   p99 %,7d µs",
          name, callsPerSecond, p50Micros, p99Micros);
    }
  }

  /** Sends calls from {@code callers} threads, first for a warm-up and then for the measurement. */
  static Result run(String name, int callers, int keys, Duration warmUp, Duration length, Call call)
      throws InterruptedException {
    ThreadFactory threads = threads();
    long warmEnd = System.nanoTime() + warmUp.toNanos();
    long end = warmEnd + length.toNanos();
    List<Histogram> histograms = new ArrayList<>();
    CountDownLatch done = new CountDownLatch(callers);
    for (int i = 0; i < callers; i++) {
      Histogram histogram = new Histogram(HIGHEST_NANOS, 3);
      histograms.add(histogram);
      threads.newThread(() -> callUntil(warmEnd, end, keys, call, histogram, done)).start();
    }
    done.await();
    Histogram all = new Histogram(HIGHEST_NANOS, 3);
    histograms.forEach(all::add);
    return Result.of(name, all, length);
  }

  private static void callUntil(
      long warmEnd, long end, int keys, Call call, Histogram histogram, CountDownLatch done) {
    try {
      for (long begun = System.nanoTime(); begun < end; ) {
        call.on(keys == 1 ? 0 : ThreadLocalRandom.current().nextInt(keys));
        long now = System.nanoTime();
        if (begun >= warmEnd) {
          histogram.recordValue(Math.min(now - begun, HIGHEST_NANOS));
        }
        begun = now;
      }
    } finally {
      done.countDown();
    }
  }

  /** Returns virtual threads if the JVM has them, otherwise platform threads. */
  private static ThreadFactory threads() {
    if (Runtime.version().feature() < FIRST_WITH_VIRTUAL_THREADS) {
      return Executors.defaultThreadFactory();
    }
    try {
      Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
      Class<?> type = Class.forName("java.lang.Thread$Builder");
      return (ThreadFactory) type.getMethod("factory").invoke(builder);
    } catch (ReflectiveOperationException missing) {
      throw new IllegalStateException(missing);
    }
  }
}
