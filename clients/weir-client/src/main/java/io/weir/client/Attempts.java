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
 * The tries of one request, one after another. Each try sends the same request. The tries end when
 * a node responds, at the deadline, or after the maximum number of tries. Thread-safe.
 */
final class Attempts<T> {
  private static final long FIRST_PAUSE_NANOS = 20_000_000;

  private final Nodes nodes;
  private final ScheduledExecutorService timer;
  private final Bounds bounds;
  private final Function<Duration, CompletableFuture<TryOutcome<T>>> request;
  private final BiFunction<Cause, String, T> fallback;
  private final CompletableFuture<T> result = new CompletableFuture<>();
  private final long deadlineNanos;
  private volatile TryOutcome.Failed<T> last;

  /**
   * The limits of the tries.
   *
   * @param deadline maximum time until a node or the fallback returns the result of the request
   * @param tryTimeout maximum time that one try waits for the response
   * @param maxTries maximum number of tries, at least 1
   */
  record Bounds(Duration deadline, Duration tryTimeout, int maxTries) {}

  /**
   * Creates the tries without starting them.
   *
   * @param request function that sends the request once, with the given timeout
   * @param fallback function that returns the result if every try fails
   */
  Attempts(
      Nodes nodes,
      ScheduledExecutorService timer,
      Bounds bounds,
      Function<Duration, CompletableFuture<TryOutcome<T>>> request,
      BiFunction<Cause, String, T> fallback) {
    this.nodes = nodes;
    this.timer = timer;
    this.bounds = bounds;
    this.request = request;
    this.fallback = fallback;
    this.deadlineNanos = System.nanoTime() + bounds.deadline().toNanos();
    this.last =
        new TryOutcome.Failed<>(
            Cause.TIMEOUT, "no response within " + bounds.deadline().toMillis() + " ms");
  }

  /** Starts the first try. The returned future completes at the deadline at the latest. */
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
      return; // the timer completes the future
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

  /**
   * Sends the request once. If sending fails with an exception, returns a failed future, which ends
   * the tries.
   */
  private CompletableFuture<TryOutcome<T>> sent(Duration timeout) {
    try {
      return request.apply(timeout);
    } catch (Throwable notSent) {
      return CompletableFuture.failedFuture(notSent);
    }
  }

  private void take(TryOutcome<T> outcome, int number) {
    if (outcome instanceof TryOutcome.Answered<T> answered) {
      result.complete(answered.value());
    } else if (outcome instanceof TryOutcome.Wrong<T> wrong) {
      result.completeExceptionally(wrong.exception());
    } else {
      last = (TryOutcome.Failed<T>) outcome;
      again(number);
    }
  }

  private void again(int number) {
    boolean isAnyAwake = nodes.isAnyAwake();
    if (number >= bounds.maxTries() || (last.cause().isRefusal() && !isAnyAwake)) {
      giveUp(); // more tries would only increase the load
    } else if (isAnyAwake) {
      attempt(number + 1);
    } else {
      var unused =
          timer.schedule(() -> attempt(number + 1), pauseNanos(number), TimeUnit.NANOSECONDS);
    }
  }

  /**
   * Returns a random pause before the next try. The upper bound of the pause doubles with each try.
   */
  private static long pauseNanos(int number) {
    long most = FIRST_PAUSE_NANOS << Math.min(number, 6);
    return ThreadLocalRandom.current().nextLong(most / 2, most);
  }
}
