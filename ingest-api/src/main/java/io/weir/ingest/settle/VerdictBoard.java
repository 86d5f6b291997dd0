// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Passes verdicts to the threads that wait for them, and to those who are to be called. A verdict
 * that arrives before it is asked for is kept, so that either may come first. Thread-safe.
 */
final class VerdictBoard {
  /** Most verdicts that are kept or waited for; beyond it the oldest is discarded. */
  private static final int MAX_KEPT = 10_000;

  private final Semaphore places;
  private final Map<UsagePosition, CompletableFuture<SettlementVerdict>> kept =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(
            Map.Entry<UsagePosition, CompletableFuture<SettlementVerdict>> eldest) {
          return size() > MAX_KEPT;
        }
      };

  private final Map<UsagePosition, Consumer<SettlementVerdict>> toBeCalled =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(
            Map.Entry<UsagePosition, Consumer<SettlementVerdict>> eldest) {
          return size() > MAX_KEPT;
        }
      };

  /**
   * Creates an empty board.
   *
   * @param maxWaiting most threads that may wait at once; each is a thread of the node
   */
  VerdictBoard(int maxWaiting) {
    this.places = new Semaphore(maxWaiting);
  }

  /** Publishes a verdict to the one who asks for it, now or later. */
  void tell(SettlementVerdict verdict) {
    Consumer<SettlementVerdict> told;
    synchronized (this) {
      told = toBeCalled.remove(verdict.position());
      if (told == null) {
        of(verdict.position()).complete(verdict);
      }
    }
    if (told != null) {
      told.accept(verdict);
    }
  }

  /** Calls someone with a verdict: at once if it has arrived, else when it arrives. */
  void whenTold(UsagePosition settlement, Consumer<SettlementVerdict> told) {
    SettlementVerdict arrived = null;
    synchronized (this) {
      CompletableFuture<SettlementVerdict> known = kept.get(settlement);
      if (known != null && known.isDone()) {
        kept.remove(settlement);
        arrived = known.join();
      } else {
        toBeCalled.put(settlement, told);
      }
    }
    if (arrived != null) {
      told.accept(arrived);
    }
  }

  /** Waits for a verdict. Returns null if it does not arrive in time or too many threads wait. */
  @Nullable SettlementVerdict await(UsagePosition settlement, Duration patience) {
    if (!places.tryAcquire()) {
      return null;
    }
    try {
      return of(settlement).get(patience.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException late) {
      return null;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return null;
    } catch (ExecutionException impossible) {
      throw new IllegalStateException("a verdict never fails", impossible);
    } finally {
      places.release();
      remove(settlement);
    }
  }

  private synchronized CompletableFuture<SettlementVerdict> of(UsagePosition settlement) {
    return kept.computeIfAbsent(settlement, first -> new CompletableFuture<>());
  }

  private synchronized void remove(UsagePosition settlement) {
    kept.remove(settlement);
  }
}
