// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.process;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A semaphore that is fair among clients. The semaphore grants permits, called turns, to waiting
 * clients in rotation. A client has a limited number of turns at a time, and its threads get turns
 * in the order of arrival. A client therefore waits at most until every other client has had one
 * turn. Thread-safe.
 */
public final class FairTurns {
  private static final long BETWEEN_LOOKS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Lock lock = new ReentrantLock();

  /**
   * Waiting threads of each client, in the order of the rotation. Clients without waiting threads
   * are absent.
   */
  private final Map<String, Deque<Waiter>> waiting = new LinkedHashMap<>();

  /** Number of turns of each client. Clients without a turn are absent. */
  private final Map<String, Integer> served = new HashMap<>();

  private final int mostOfAClient;
  private int free;

  private final class Waiter {
    final Condition turn = lock.newCondition();
    boolean hasTurn;
  }

  /**
   * Creates a semaphore whose turns are all free.
   *
   * @param turns number of turns, positive
   * @param mostOfAClient maximum number of turns of one client at a time, positive
   */
  public FairTurns(int turns, int mostOfAClient) {
    if (turns < 1 || mostOfAClient < 1) {
      throw new IllegalArgumentException(
          "turns and turns per client must be at least 1, but are "
              + turns
              + " and "
              + mostOfAClient);
    }
    this.free = turns;
    this.mostOfAClient = mostOfAClient;
  }

  /**
   * Waits for a turn. The caller must release the turn.
   *
   * @return false if the client got no turn within the timeout
   */
  public boolean acquire(String client, long timeoutNanos) throws InterruptedException {
    return acquire(client, timeoutNanos, () -> false);
  }

  /**
   * Waits for a turn. The caller must release the turn.
   *
   * @param isAbandoned returns true to stop waiting; called every 100 ms during the wait, must
   *     return quickly
   * @return false if the client got no turn within the timeout, or the wait was abandoned
   */
  public boolean acquire(String client, long timeoutNanos, BooleanSupplier isAbandoned)
      throws InterruptedException {
    lock.lockInterruptibly();
    try {
      Waiter waiter = new Waiter();
      waiting.computeIfAbsent(client, first -> new ArrayDeque<>()).add(waiter);
      handOut();
      try {
        long left = timeoutNanos;
        while (!waiter.hasTurn && left > 0 && !isAbandoned.getAsBoolean()) {
          long slice = Math.min(left, BETWEEN_LOOKS_NANOS);
          left -= slice - waiter.turn.awaitNanos(slice);
        }
        return waiter.hasTurn;
      } catch (InterruptedException interrupted) {
        if (waiter.hasTurn) {
          giveBack(client);
        }
        throw interrupted;
      } finally {
        if (!waiter.hasTurn) {
          leave(client, waiter);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Releases a turn of a client. */
  public void release(String client) {
    lock.lock();
    try {
      giveBack(client);
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(String client) {
    served.computeIfPresent(client, (name, turns) -> turns == 1 ? null : turns - 1);
    free++;
    handOut();
  }

  private void handOut() {
    while (free > 0) {
      String next = null;
      for (String client : waiting.keySet()) { // few clients have turns, so the loop is short
        if (served.getOrDefault(client, 0) < mostOfAClient) {
          next = client;
          break;
        }
      }
      if (next == null) {
        return;
      }
      serve(next);
    }
  }

  private void serve(String client) {
    Deque<Waiter> queue = Objects.requireNonNull(waiting.remove(client));
    Waiter waiter = queue.remove();
    if (!queue.isEmpty()) {
      waiting.put(client, queue); // moves the client to the end of the rotation
    }
    free--;
    served.merge(client, 1, Integer::sum);
    waiter.hasTurn = true;
    waiter.turn.signal();
  }

  /** Returns the number of waiting threads of a client. */
  public int waiting(String client) {
    lock.lock();
    try {
      Deque<Waiter> queue = waiting.get(client);
      return queue == null ? 0 : queue.size();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of waiting threads of all clients. */
  public int waiting() {
    lock.lock();
    try {
      return waiting.values().stream().mapToInt(Deque::size).sum();
    } finally {
      lock.unlock();
    }
  }

  private void leave(String client, Waiter waiter) {
    Deque<Waiter> queue = waiting.get(client);
    if (queue != null) {
      queue.remove(waiter);
      if (queue.isEmpty()) {
        waiting.remove(client);
      }
    }
  }
}
