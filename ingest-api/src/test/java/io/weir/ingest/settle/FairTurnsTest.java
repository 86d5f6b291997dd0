// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Who comes first. */
final class FairTurnsTest {
  private final FairTurns turns = new FairTurns(1);
  private final BlockingQueue<Long> had = new LinkedBlockingQueue<>();

  @Test
  void leastWeight_comesFirst_andOfEqualsTheFirst() throws Exception {
    assertTrue(turns.acquire(0, 0));
    List<Thread> waiting = new ArrayList<>();
    for (long weight : new long[] {9, 5, 7, 1}) {
      Thread waiter = new Thread(() -> takeTurn(weight));
      waiter.start();
      waiting.add(waiter);
      Await.until("a waiter", () -> waiter.getState() == Thread.State.TIMED_WAITING);
    }
    turns.release();
    for (Thread waiter : waiting) {
      waiter.join();
    }

    assertEquals(List.of(1L, 5L, 7L, 9L), List.copyOf(had));
    assertTrue(turns.acquire(0, 0), "the turn is free again");
  }

  @Test
  void waiterWhosePatienceEnds_isPassedOver() throws Exception {
    assertTrue(turns.acquire(0, 0));
    assertFalse(turns.acquire(0, 1));
    turns.release();

    assertTrue(turns.acquire(0, 0));
  }

  private void takeTurn(long weight) {
    try {
      assertTrue(turns.acquire(weight, TimeUnit.MINUTES.toNanos(3)));
      had.add(weight);
      turns.release();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
