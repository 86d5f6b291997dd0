// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

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

/** Tests which waiting client gets the next turn. */
final class FairTurnsTest {
  private final FairTurns turns = new FairTurns(1, 1);
  private final BlockingQueue<String> had = new LinkedBlockingQueue<>();

  /**
   * Regression: the client with the fewest reads came first, so idle clients delayed all other
   * clients.
   */
  @Test
  void clients_takeTurns_howeverManyWaitersOneOfThemHas() throws Exception {
    assertTrue(turns.acquire("stranger", 0));
    List<Thread> waiting = new ArrayList<>();
    for (String client : List.of("stranger", "stranger", "stranger", "a", "b", "a")) {
      Thread waiter = new Thread(() -> takeTurn(client));
      waiter.start();
      waiting.add(waiter);
      Await.until("a waiter", () -> waiter.getState() == Thread.State.TIMED_WAITING);
    }
    turns.release("stranger");
    for (Thread waiter : waiting) {
      waiter.join();
    }

    assertEquals(List.of("stranger", "a", "b", "stranger", "a", "stranger"), List.copyOf(had));
    assertTrue(turns.acquire("a", 0), "the turn is free again");
  }

  @Test
  void client_hasOneTurnAtATime() throws Exception {
    FairTurns four = new FairTurns(4, 1);
    assertTrue(four.acquire("stranger", 0));

    assertFalse(four.acquire("stranger", 1));
    assertTrue(four.acquire("a", 0));
    four.release("stranger");
    assertTrue(four.acquire("stranger", 0));
  }

  @Test
  void client_hasAsManyTurnsAsItMay() throws Exception {
    FairTurns four = new FairTurns(4, 3);
    for (int turn = 0; turn < 3; turn++) {
      assertTrue(four.acquire("stranger", 0));
    }

    assertFalse(four.acquire("stranger", 1));
    assertTrue(four.acquire("a", 0));
    assertEquals(0, four.waiting());
  }

  @Test
  void waiterWhoseTimeoutEnds_isPassedOver() throws Exception {
    assertTrue(turns.acquire("a", 0));
    assertFalse(turns.acquire("b", 1));
    turns.release("a");

    assertTrue(turns.acquire("a", 0));
  }

  private void takeTurn(String client) {
    try {
      assertTrue(turns.acquire(client, TimeUnit.MINUTES.toNanos(3)));
      had.add(client);
      turns.release(client);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
