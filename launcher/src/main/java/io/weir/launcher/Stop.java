// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

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
 * Closes what a process runs when the process is asked to end, by Ctrl-C or SIGTERM, at whatever
 * moment from the beginning of the start on, or when it works no more. A process that was asked,
 * and could close it, ends with 0 rather than with the status of a signal, so that no supervisor
 * takes it for a failure. The process ends in any case, whatever hangs.
 *
 * @param <T> what is run
 */
final class Stop<T extends AutoCloseable> {
  /** How long a stop takes at most, but for the draining of a journal. */
  static final Duration LIMIT = Duration.ofSeconds(40);

  /**
   * How long it takes at most when a part works no more: what needs that part would only wait for
   * it, and data are as safe as after a {@code kill -9}.
   */
  private static final Duration LIMIT_AFTER_FAILURE = Duration.ofSeconds(10);

  private static final Logger LOG = LoggerFactory.getLogger(Stop.class);

  /** What the process is to end with by itself; 0 when it is asked to end. */
  private static final AtomicInteger OWN_STATUS = new AtomicInteger();

  private final Function<T, Duration> limit;
  private final Thread hook = new Thread(this::end, "weir-stop");
  private final AtomicBoolean asked = new AtomicBoolean();
  private final AtomicInteger status = new AtomicInteger();

  /** Completed when the start is over; empty when it has failed. */
  private final CompletableFuture<Optional<T>> started = new CompletableFuture<>();

  private Stop(Function<T, Duration> limit) {
    this.limit = limit;
  }

  /**
   * Starts a resource. A process that is asked to end meanwhile closes it as soon as it is started,
   * so that a node that has begun to promise says goodbye; a start that takes longer than {@link
   * #LIMIT} from then on is not waited for.
   *
   * @param limit how long closing may take
   * @throws Exception when the start does; what is started then is closed by the start itself
   */
  static <T extends AutoCloseable> Stop<T> start(Callable<T> start, Function<T, Duration> limit)
      throws Exception {
    Stop<T> stop = new Stop<>(limit);
    Runtime.getRuntime().addShutdownHook(stop.hook);
    try {
      stop.started.complete(Optional.of(start.call()));
    } catch (Throwable failed) {
      stop.startHasFailed(failed);
      throw failed;
    }
    if (stop.asked.get()) {
      awaitEnd();
    }
    return stop;
  }

  private void startHasFailed(Throwable failed) throws InterruptedException {
    boolean isAsked = false;
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException runsAlready) {
      isAsked = true;
      LOG.warn("the start was not ended: {}", failed.toString());
    }
    started.complete(Optional.empty());
    if (isAsked) {
      awaitEnd();
    }
  }

  /** Says with which status the process is about to end by itself. */
  static void endingWith(int status) {
    OWN_STATUS.set(status);
  }

  /** What was started. */
  T resource() {
    return started.join().orElseThrow();
  }

  /**
   * Waits for something of the resource, as for its readiness. A process that is asked to end
   * meanwhile does not wait for it.
   *
   * @throws Exception when the wait does; the process is to end then, and closes the resource
   */
  void await(Callable<?> wait) throws Exception {
    try {
      wait.call();
    } catch (Throwable failed) {
      if (asked.get()) {
        awaitEnd();
      }
      status.set(1);
      throw failed;
    }
  }

  /**
   * Waits until the process is asked to end, or the resource has failed by itself.
   *
   * @param failure says why the resource works no more, empty while it works; asked every second
   * @return why it works no more; the process is to end with 1 then, and closes the resource
   */
  String awaitFailure(Supplier<String> failure) throws InterruptedException {
    while (true) {
      String why = failure.get();
      // what is being closed looks as if it had failed, so this is asked last
      if (asked.get()) {
        awaitEnd();
      }
      if (!why.isEmpty()) {
        status.set(1);
        return why;
      }
      TimeUnit.SECONDS.sleep(1);
    }
  }

  /** The hook ends the process. */
  private static void awaitEnd() throws InterruptedException {
    new CountDownLatch(1).await();
  }

  private void end() {
    asked.set(true);
    if (!started.isDone()) {
      LOG.warn("asked to end; waits at most {} for the start to be over", LIMIT);
    }
    boolean inOrder;
    try {
      Optional<T> resource = started.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
      inOrder = resource.isEmpty() || close(resource.get());
    } catch (TimeoutException late) {
      LOG.error("the start was not over within {}; the process ends without", LIMIT);
      inOrder = false;
    } catch (Exception impossible) {
      LOG.error("could not stop in order", impossible);
      inOrder = false;
    }
    Runtime.getRuntime().halt(inOrder ? Math.max(status.get(), OWN_STATUS.get()) : 1);
  }

  /** Whether it was closed in order and in time. */
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
                LOG.error("could not stop in order", failed);
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
          "did not stop within {}; the process ends without: {}",
          closing,
          Arrays.toString(thread.getStackTrace()));
    }
    return inOrder.get();
  }
}
