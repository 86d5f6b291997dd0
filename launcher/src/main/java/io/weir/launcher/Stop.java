// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for Ctrl-C or SIGTERM, then closes what was started before the process ends. */
final class Stop {
  /** How long a stop takes at most, but for the draining of a journal. */
  static final Duration LIMIT = Duration.ofSeconds(40);

  /**
   * How long it takes at most when a part works no more: what needs that part would only wait for
   * it, and data are as safe as after a {@code kill -9}.
   */
  private static final Duration LIMIT_AFTER_FAILURE = Duration.ofSeconds(10);

  private static final Logger LOG = LoggerFactory.getLogger(Stop.class);

  private Stop() {}

  /**
   * Starts a resource. A process that is asked to end meanwhile closes it as soon as it is started,
   * so that a node that has begun to promise says goodbye, and ends; a start that takes longer than
   * {@link #LIMIT} is not waited for.
   *
   * @param closing how long closing may take
   * @throws Exception when the start does
   */
  static <T extends AutoCloseable> T start(Callable<T> start, Duration closing) throws Exception {
    CompletableFuture<Optional<T>> started = new CompletableFuture<>();
    Thread hook =
        new Thread(
            () -> {
              Optional<T> resource =
                  started
                      .completeOnTimeout(Optional.empty(), LIMIT.toMillis(), TimeUnit.MILLISECONDS)
                      .join();
              boolean inOrder = resource.isPresent() && close(resource.get(), closing);
              Runtime.getRuntime().halt(inOrder ? 0 : 1);
            },
            "weir-stop");
    Runtime.getRuntime().addShutdownHook(hook);
    Optional<T> resource = Optional.empty();
    try {
      resource = Optional.of(start.call());
      return resource.get();
    } finally {
      started.complete(resource);
      awaitEndIfAsked(hook);
    }
  }

  /** Takes a hook back; when it runs already, it ends the process. */
  private static void awaitEndIfAsked(Thread hook) throws InterruptedException {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException asked) {
      new CountDownLatch(1).await();
    }
  }

  /**
   * Closes a resource when the process is asked to end, or when the resource has failed by itself.
   * A process that was asked, and could close it, ends with 0 rather than with the status of a
   * signal, so that no supervisor takes it for a failure. The process ends in any case, whatever
   * hangs.
   *
   * @param failure says why the resource works no more, empty while it works; asked every second
   * @param limit how long closing may take
   * @return the status the process shall end with: 1 after a failure
   */
  static int awaitAndClose(AutoCloseable resource, Supplier<String> failure, Duration limit)
      throws InterruptedException {
    AtomicBoolean asked = new AtomicBoolean();
    AtomicInteger status = new AtomicInteger();
    CountDownLatch closed = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  asked.set(true);
                  boolean hasFailed = status.get() != 0;
                  if (!close(resource, hasFailed ? LIMIT_AFTER_FAILURE : limit)) {
                    status.set(1);
                  }
                  closed.countDown();
                  Runtime.getRuntime().halt(status.get());
                },
                "weir-stop"));
    while (!closed.await(1, TimeUnit.SECONDS)) {
      String why = failure.get();
      // what is being closed looks as if it had failed, so this is asked last
      if (!why.isEmpty() && !asked.get()) {
        LOG.error("a part has stopped for good; the process ends: {}", why);
        status.set(1);
        return 1;
      }
    }
    return 0;
  }

  /** Whether it was closed in order and in time. */
  private static boolean close(AutoCloseable resource, Duration limit) {
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
      thread.join(limit.toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.error(
          "did not stop within {}; the process ends without: {}",
          limit,
          Arrays.toString(thread.getStackTrace()));
    }
    return inOrder.get();
  }
}
