// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes a process's resource when the process receives Ctrl-C or SIGTERM, or when the resource has
 * failed. The signal may arrive at any moment after the start has begun. After a signal, a process
 * that closed its resource exits with 0 instead of the signal's status, so that no supervisor
 * reports a failure. The process ends in any case, even if the close hangs.
 *
 * @param <T> type of the resource
 */
public final class Stop<T extends AutoCloseable> {
  /** Maximum duration of a stop, without the draining of a journal. */
  public static final Duration LIMIT = Duration.ofSeconds(40);

  /**
   * Maximum duration of a stop after a part has failed. The other parts would only wait for the
   * failed part, and the data are as safe as after a {@code kill -9}.
   */
  private static final Duration LIMIT_AFTER_FAILURE = Duration.ofSeconds(10);

  private static final Logger LOG = LoggerFactory.getLogger(Stop.class);

  /** The exit status of a process that ends without a signal; 0 if a signal ends the process. */
  private static final AtomicInteger OWN_STATUS = new AtomicInteger();

  private final Function<T, Duration> limit;
  private final Thread hook = new Thread(this::end, "weir-stop");
  private final AtomicBoolean isRequested = new AtomicBoolean();
  private final AtomicInteger status = new AtomicInteger();

  /** Completed when the start has finished; the value is empty if the start has failed. */
  private final CompletableFuture<Optional<T>> started = new CompletableFuture<>();

  private Stop(Function<T, Duration> limit) {
    this.limit = limit;
  }

  /**
   * Starts a resource. If the process receives a signal during the start, the resource is closed as
   * soon as it is started. So a node that has already published a low watermark also publishes its
   * final heartbeat. After a signal, the start may take at most {@link #LIMIT}.
   *
   * @param start starts the resource; on a failure, closes all parts that were started
   * @param limit returns the maximum duration of the close
   * @throws Exception if the start fails
   */
  public static <T extends AutoCloseable> Stop<T> start(
      Callable<T> start, Function<T, Duration> limit) throws Exception {
    Stop<T> stop = new Stop<>(limit);
    Runtime.getRuntime().addShutdownHook(stop.hook);
    try {
      stop.started.complete(Optional.of(start.call()));
    } catch (Throwable failed) {
      stop.startHasFailed(failed);
      throw failed;
    }
    if (stop.isRequested.get()) {
      awaitEnd();
    }
    return stop;
  }

  private void startHasFailed(Throwable failed) throws InterruptedException {
    boolean isEnding = false;
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException runsAlready) {
      isEnding = true;
      LOG.warn("the start failed during the stop: {}", failed.toString());
    }
    started.complete(Optional.empty());
    if (isEnding) {
      awaitEnd();
    }
  }

  /** Sets the exit status of a process that is about to end without a signal. */
  public static void endingWith(int status) {
    OWN_STATUS.set(status);
  }

  /** Returns the resource. */
  public T resource() {
    return started.join().orElseThrow();
  }

  /**
   * Waits for a condition of the resource, such as its readiness. If the process receives a signal
   * during the wait, the wait is abandoned.
   *
   * @throws Exception if the wait fails; the process must then end, which closes the resource
   */
  public void await(Callable<?> wait) throws Exception {
    try {
      wait.call();
    } catch (Throwable failed) {
      if (isRequested.get()) {
        awaitEnd();
      }
      status.set(1);
      throw failed;
    }
  }

  /**
   * Waits until the process receives a signal or the resource has failed.
   *
   * @param failure returns why the resource has failed, or an empty string while it works; called
   *     every second
   * @return why the resource has failed; the process must then end with 1, which closes the
   *     resource
   */
  public String awaitFailure(Supplier<String> failure) throws InterruptedException {
    while (true) {
      String why = failure.get();
      // checked after the failure is read, because a resource that is being closed also reports a
      // failure
      if (isRequested.get()) {
        awaitEnd();
      }
      if (!why.isEmpty()) {
        status.set(1);
        return why;
      }
      TimeUnit.SECONDS.sleep(1);
    }
  }

  /** Blocks until the shutdown hook ends the process. */
  private static void awaitEnd() throws InterruptedException {
    new CountDownLatch(1).await();
  }

  private void end() {
    isRequested.set(true);
    if (!started.isDone()) {
      LOG.warn(
          "received a signal during the start; waits at most {} for the start to finish", LIMIT);
    }
    boolean inOrder;
    try {
      Optional<T> resource = started.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
      inOrder = resource.isEmpty() || close(resource.get());
    } catch (TimeoutException late) {
      LOG.error("the start did not finish within {}; the process ends now", LIMIT);
      inOrder = false;
    } catch (Exception impossible) {
      LOG.error("could not stop", impossible);
      inOrder = false;
    }
    Runtime.getRuntime().halt(inOrder ? Math.max(status.get(), OWN_STATUS.get()) : 1);
  }

  /**
   * Closes the resource.
   *
   * @return whether the resource was closed without failure and in time
   */
  private boolean close(T resource) {
    boolean hasFailed = status.get() != 0 || OWN_STATUS.get() != 0;
    Duration closing = !hasFailed ? limit.apply(resource) : LIMIT_AFTER_FAILURE;
    AtomicBoolean inOrder = new AtomicBoolean();
    Thread thread =
        new Thread(
            () -> {
              try {
                resource.close();
                inOrder.set(true);
              } catch (Exception failed) {
                LOG.error("could not stop", failed);
              }
            },
            "weir-close");
    thread.setDaemon(true);
    thread.start();
    try {
      thread.join(closing.toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.error(
          "did not stop within {}; the process ends now: {}",
          closing,
          Arrays.toString(thread.getStackTrace()));
    }
    return inOrder.get();
  }
}
