// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A few turns that are given to the one of least weight among those who wait, and of equals to the
 * one that came first. Safe for threads.
 */
final class FairTurns {
  private final Lock lock = new ReentrantLock();
  private final PriorityQueue<Waiter> waiters =
      new PriorityQueue<>(
          Comparator.comparingLong((Waiter one) -> one.weight).thenComparingLong(one -> one.order));
  private int free;
  private long arrived;

  private final class Waiter {
    final long weight;
    final long order;
    final Condition turn = lock.newCondition();
    boolean hasTurn;

    Waiter(long weight) {
      this.weight = weight;
      this.order = arrived++;
    }
  }

  FairTurns(int turns) {
    this.free = turns;
  }

  /** Waits for a turn, which must be released; false when none came in time. */
  boolean acquire(long weight, long patienceNanos) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      if (free > 0) {
        free--;
        return true;
      }
      Waiter waiter = new Waiter(weight);
      waiters.add(waiter);
      try {
        long left = patienceNanos;
        while (!waiter.hasTurn && left > 0) {
          left = waiter.turn.awaitNanos(left);
        }
        return waiter.hasTurn;
      } catch (InterruptedException interrupted) {
        if (waiter.hasTurn) {
          passOn();
        }
        throw interrupted;
      } finally {
        waiters.remove(waiter);
      }
    } finally {
      lock.unlock();
    }
  }

  void release() {
    lock.lock();
    try {
      passOn();
    } finally {
      lock.unlock();
    }
  }

  private void passOn() {
    Waiter next = waiters.poll();
    if (next == null) {
      free++;
    } else {
      next.hasTurn = true;
      next.turn.signal();
    }
  }
}
