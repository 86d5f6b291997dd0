// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class SupervisedThreadTest {
  private static final long PATIENCE_SECONDS = 180;

  private final List<Throwable> failures = new CopyOnWriteArrayList<>();
  private final CountDownLatch reached = new CountDownLatch(3);
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch woken = new CountDownLatch(1);

  private interface Attempt {
    void run() throws InterruptedException;
  }

  private SupervisedThread thread(Attempt attempt) {
    return new SupervisedThread(
        "tested",
        new SupervisedThread.Work() {
          @Override
          public void run() throws InterruptedException {
            attempt.run();
          }

          @Override
          public long failed(Throwable failure) {
            failures.add(failure);
            return 1;
          }

          @Override
          public void wakeUp(Thread worker) {
            woken.countDown();
          }
        });
  }

  private void awaitBegun() throws InterruptedException {
    assertTrue(begun.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
  }

  private void awaitReached() throws InterruptedException {
    assertTrue(reached.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
  }

  @Test
  void work_fails_isRestarted_alsoAfterAnError() throws Exception {
    IllegalStateException failure = new IllegalStateException("expected");
    AssertionError error = new AssertionError("expected");
    try (SupervisedThread thread =
        thread(
            () -> {
              reached.countDown();
              switch ((int) reached.getCount()) {
                case 2 -> throw failure;
                case 1 -> throw error;
                default -> woken.await();
              }
            })) {
      thread.start();
      awaitReached();

      assertEquals(List.of(failure, error), failures);
      assertFalse(thread.hasFailed());
    }
  }

  @Test
  void close_wakesTheWork_andEndsTheThread() throws Exception {
    CountDownLatch ended = new CountDownLatch(1);
    SupervisedThread thread =
        thread(
            () -> {
              begun.countDown();
              woken.await();
              ended.countDown();
            });
    thread.start();
    awaitBegun();
    thread.close(Duration.ofSeconds(PATIENCE_SECONDS));

    assertEquals(0, ended.getCount());
    assertTrue(thread.isClosing());
    assertFalse(thread.hasFailed());
    assertEquals(List.of(), failures);
  }

  @Test
  void close_workDoesNotWake_isInterrupted() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    SupervisedThread thread =
        thread(
            () -> {
              begun.countDown();
              try {
                new CountDownLatch(1).await();
              } finally {
                interrupted.countDown();
              }
            });
    thread.start();
    awaitBegun();
    thread.close(Duration.ofMillis(10));

    assertTrue(interrupted.await(PATIENCE_SECONDS, TimeUnit.SECONDS));
    assertEquals(List.of(), failures);
  }

  /** Regression: an interrupt by other code ended the thread permanently, without a message. */
  @Test
  void interruptWithoutClose_isAFailure_andTheWorkIsRestarted() throws Exception {
    try (SupervisedThread thread =
        thread(
            () -> {
              reached.countDown();
              if (reached.getCount() > 0) {
                Thread.currentThread().interrupt();
              }
              woken.await();
            })) {
      thread.start();
      awaitReached();

      assertEquals(2, failures.size());
      assertFalse(thread.hasFailed());
    }
  }

  @Test
  void pause_interruptedWithoutClose_isCutShort_andTheWorkIsRestarted() throws Exception {
    try (SupervisedThread thread =
        new SupervisedThread(
            "tested",
            new SupervisedThread.Work() {
              @Override
              public void run() {
                reached.countDown();
                throw new IllegalStateException("expected");
              }

              @Override
              public long failed(Throwable failure) {
                Thread.currentThread().interrupt();
                return TimeUnit.DAYS.toMillis(1);
              }

              @Override
              public void wakeUp(Thread worker) {
                woken.countDown();
              }
            })) {
      thread.start();
      awaitReached();
    }
  }

  @Test
  void failureHandlerThrows_isLogged_andTheWorkIsRestarted() throws Exception {
    try (SupervisedThread thread =
        new SupervisedThread(
            "tested",
            new SupervisedThread.Work() {
              @Override
              public void run() throws InterruptedException {
                reached.countDown();
                if (reached.getCount() == 0) {
                  woken.await();
                }
                throw new IllegalStateException("expected");
              }

              @Override
              public long failed(Throwable failure) {
                throw new IllegalStateException("expected, too");
              }

              @Override
              public void wakeUp(Thread worker) {
                woken.countDown();
              }
            })) {
      thread.start();
      awaitReached();
      assertFalse(thread.hasFailed());
    }
  }

  @Test
  void close_failureMeanwhile_isNotReported() throws Exception {
    SupervisedThread thread =
        thread(
            () -> {
              begun.countDown();
              woken.await();
              throw new IllegalStateException("expected");
            });
    thread.start();
    awaitBegun();
    thread.close(Duration.ofSeconds(PATIENCE_SECONDS));

    assertEquals(List.of(), failures);
  }

  @Test
  void close_beforeTheStart_isHarmless() {
    thread(() -> {}).close();

    assertEquals(0, woken.getCount());
  }

  @Test
  void backoff_doublesUpToItsBound_andStartsAgain() {
    Backoff backoff = new Backoff(100, 350);

    assertEquals(100, backoff.failedMillis());
    assertEquals(200, backoff.failedMillis());
    assertEquals(350, backoff.failedMillis());
    assertEquals(350, backoff.failedMillis());
    backoff.reset();
    assertEquals(100, backoff.failedMillis());
  }
}
