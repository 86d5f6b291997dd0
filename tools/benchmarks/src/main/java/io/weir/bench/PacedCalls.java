// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/** Sends calls at a constant rate from several threads. */
final class PacedCalls implements AutoCloseable {
  private static final int THREADS = 16;

  private final AtomicBoolean stopping = new AtomicBoolean();
  private final AtomicLong next = new AtomicLong();
  private final LongAdder failed = new LongAdder();
  private final List<Thread> threads = new ArrayList<>();
  private final long nanosBetweenCalls;
  private final LongConsumer call;

  private PacedCalls(double callsPerSecond, LongConsumer call) {
    this.nanosBetweenCalls = (long) (1e9 * THREADS / callsPerSecond);
    this.call = call;
  }

  /**
   * Starts calling.
   *
   * @param call function that sends the n-th call
   */
  static PacedCalls start(double callsPerSecond, LongConsumer call) {
    PacedCalls calls = new PacedCalls(callsPerSecond, call);
    for (int i = 0; i < THREADS; i++) {
      Thread thread = new Thread(calls::run, "caller-" + i);
      thread.start();
      calls.threads.add(thread);
    }
    return calls;
  }

  private void run() {
    long due = System.nanoTime();
    while (!stopping.get()) {
      try {
        call.accept(next.getAndIncrement());
      } catch (RuntimeException notAnswered) {
        failed.increment();
      }
      due = Math.max(due + nanosBetweenCalls, System.nanoTime() - nanosBetweenCalls);
      for (long left = due - System.nanoTime();
          left > 0 && !stopping.get();
          left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
    }
  }

  /** Returns the number of calls that were started. */
  long begun() {
    return next.get();
  }

  /** Returns the number of calls without a response. */
  long failed() {
    return failed.sum();
  }

  @Override
  public void close() {
    stopping.set(true);
    for (Thread thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
