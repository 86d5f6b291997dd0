// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import org.HdrHistogram.Recorder;
import org.jspecify.annotations.Nullable;

/**
 * A caller without waiting threads, like {@code redis-benchmark -P}. A constant number of calls is
 * in progress. The thread that completes a call starts the next call.
 */
final class PipelinedCaller {
  private static final long HIGHEST_NANOS = 60_000_000_000L;

  private final int keys;
  private final long warmEnd;
  private final long end;
  private final IntFunction<? extends CompletionStage<?>> call;
  private final Recorder latencies = new Recorder(HIGHEST_NANOS, 3);
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final CountDownLatch done;

  private PipelinedCaller(
      int inFlight,
      int keys,
      Duration warmUp,
      Duration length,
      IntFunction<? extends CompletionStage<?>> call) {
    this.keys = keys;
    this.warmEnd = System.nanoTime() + warmUp.toNanos();
    this.end = warmEnd + length.toNanos();
    this.call = call;
    this.done = new CountDownLatch(inFlight);
  }

  /**
   * Sends calls for a warm-up, and then for the measurement.
   *
   * @param inFlight number of calls in progress at any time
   * @param call function that starts a call with the given key
   * @throws IllegalStateException if a call failed
   */
  static Callers.Result run(
      String name,
      int inFlight,
      int keys,
      Duration warmUp,
      Duration length,
      IntFunction<? extends CompletionStage<?>> call)
      throws InterruptedException {
    PipelinedCaller caller = new PipelinedCaller(inFlight, keys, warmUp, length, call);
    for (int i = 0; i < inFlight; i++) {
      caller.next();
    }
    caller.done.await();
    Throwable failed = caller.failure.get();
    if (failed != null) {
      throw new IllegalStateException(failed);
    }
    return Callers.Result.of(name, caller.latencies.getIntervalHistogram(), length);
  }

  private void next() {
    // a call that is already complete must not nest the next call
    boolean again = true;
    while (again) {
      long begun = System.nanoTime();
      if (begun >= end || failure.get() != null) {
        done.countDown();
        return;
      }
      CompletionStage<?> called =
          call.apply(keys == 1 ? 0 : ThreadLocalRandom.current().nextInt(keys));
      again = called.toCompletableFuture().isDone();
      boolean followed = again;
      var unused =
          called.whenComplete(
              (result, error) -> {
                ended(begun, error);
                if (!followed) {
                  next();
                }
              });
    }
  }

  private void ended(long begun, @Nullable Throwable error) {
    if (error != null) {
      failure.compareAndSet(null, error);
    } else if (begun >= warmEnd) {
      latencies.recordValue(Math.min(System.nanoTime() - begun, HIGHEST_NANOS));
    }
  }
}
