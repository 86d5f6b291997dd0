// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A few turns that are assigned to the waiting clients in rotation. A client has at most one turn
 * at a time, and threads that wait for the same client are served in the order of their arrival. So
 * a client waits at most until each other client has had one turn. Thread-safe.
 */
final class FairTurns {
  private final Lock lock = new ReentrantLock();

  /** Waiting threads by client, in the order of the rotation. No queue is empty. */
  private final Map<String, Deque<Waiter>> waiting = new LinkedHashMap<>();

  /** The clients that have a turn. */
  private final Set<String> served = new HashSet<>();

  private int free;

  private final class Waiter {
    final Condition turn = lock.newCondition();
    boolean hasTurn;
  }

  FairTurns(int turns) {
    this.free = turns;
  }

  /**
   * Waits for a turn, which must be released.
   *
   * @return false if no turn came in time
   */
  boolean acquire(String client, long patienceNanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      Waiter waiter = new Waiter();
      waiting.computeIfAbsent(client, first -> new ArrayDeque<>()).add(waiter);
      handOut();
      try {
        long left = patienceNanos;
        while (!waiter.hasTurn && left > 0) {
          left = waiter.turn.awaitNanos(left);
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

  /** Releases a client's turn. */
  void release(String client) {
    lock.lock();
    try {
      giveBack(client);
    } finally {
      lock.unlock();
    }
  }

  private void giveBack(String client) {
    served.remove(client);
    free++;
    handOut();
  }

  private void handOut() {
    while (free > 0) {
      String next = null;
      for (String client : waiting.keySet()) { // skips the clients being served: a few
        if (!served.contains(client)) {
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
      waiting.put(client, queue); // after all others
    }
    free--;
    served.add(client);
    waiter.hasTurn = true;
    waiter.turn.signal();
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
