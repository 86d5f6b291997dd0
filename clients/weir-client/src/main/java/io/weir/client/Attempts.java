// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import io.weir.client.Decision.Cause;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * The tries of one request, one after another, until one is answered or the deadline has come. What
 * is sent is the same each time. Thread-safe.
 */
final class Attempts<T> {
  private static final long FIRST_PAUSE_NANOS = 20_000_000;

  private final Nodes nodes;
  private final ScheduledExecutorService timer;
  private final Bounds bounds;
  private final Function<Duration, CompletableFuture<Outcome<T>>> request;
  private final BiFunction<Cause, String, T> fallback;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final long deadlineNanos;
  private volatile Outcome.Failed<T> last;

  /**
   * How long and how often a request is tried.
   *
   * @param deadline until the request is answered, by a node or else by the fallback
   * @param tryTimeout how long one try waits for its answer
   * @param maxTries most tries, at least 1
   */
  record Bounds(Duration deadline, Duration tryTimeout, int maxTries) {}

  /**
   * Prepares the tries.
   *
   * @param request sends the request once, with the time that it may take
   * @param fallback what to answer when no try has an answer
   */
  Attempts(
      Nodes nodes,
      ScheduledExecutorService timer,
      Bounds bounds,
      Function<Duration, CompletableFuture<Outcome<T>>> request,
      BiFunction<Cause, String, T> fallback) {
    this.nodes = nodes;
    this.timer = timer;
    this.bounds = bounds;
    this.request = request;
    this.fallback = fallback;
    this.deadlineNanos = System.nanoTime() + bounds.deadline().toNanos();
    this.last =
        new Outcome.Failed<>(
            Cause.TIMEOUT, "no answer within " + bounds.deadline().toMillis() + " ms");
  }

  /** Begins the first try. The result is completed when the deadline has come, at the latest. */
  CompletableFuture<T> begin() {
    Future<?> end = timer.schedule(this::giveUp, bounds.deadline().toNanos(), TimeUnit.NANOSECONDS);
    attempt(1);
    return result.whenComplete((value, thrown) -> end.cancel(false));
  }

  private void giveUp() {
    result.complete(fallback.apply(last.cause(), last.detail()));
  }

  private void attempt(int number) {
    long leftNanos = deadlineNanos - System.nanoTime();
    if (result.isDone() || leftNanos <= 0) {
      return; // the timer answers
    }
    Duration left = Duration.ofNanos(leftNanos);
    Duration most = left.compareTo(bounds.tryTimeout()) < 0 ? left : bounds.tryTimeout();
    var unused =
        sent(most)
            .whenComplete(
                (outcome, thrown) -> {
                  if (thrown != null) {
                    result.completeExceptionally(thrown);
                  } else {
                    take(outcome, number);
                  }
                });
  }

  /** Sends the request once; what is thrown meanwhile ends the tries, as a failed answer does. */
  private CompletableFuture<Outcome<T>> sent(Duration timeout) {
    try {
      return request.apply(timeout);
    } catch (Throwable notSent) {
      return CompletableFuture.failedFuture(notSent);
    }
  }

  private void take(Outcome<T> outcome, int number) {
    if (outcome instanceof Outcome.Answered<T> answered) {
      result.complete(answered.value());
    } else if (outcome instanceof Outcome.Wrong<T> wrong) {
      result.completeExceptionally(wrong.exception());
    } else {
      last = (Outcome.Failed<T>) outcome;
      again(number);
    }
  }

  private void again(int number) {
    boolean isAnyAwake = nodes.isAnyAwake();
    if (number >= bounds.maxTries() || (last.cause().isRefusal() && !isAnyAwake)) {
      giveUp(); // further tries would only add to the load
    } else if (isAnyAwake) {
      attempt(number + 1);
    } else {
      var unused =
          timer.schedule(() -> attempt(number + 1), pauseNanos(number), TimeUnit.NANOSECONDS);
    }
  }

  /** Returns a random pause up to a bound that doubles with each try. */
  private static long pauseNanos(int number) {
    long most = FIRST_PAUSE_NANOS << Math.min(number, 6);
    return ThreadLocalRandom.current().nextLong(most / 2, most);
  }
}
