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
import org.jspecify.annotations.Nullable;

/**
 * Passes verdicts to waiting threads. If a verdict arrives before its requester, the board keeps
 * the verdict. Thread-safe.
 */
final class VerdictBoard {
  /**
   * Maximum number of verdicts that are kept or awaited. Above this number, the board discards the
   * oldest entry.
   */
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

  /**
   * Creates an empty board.
   *
   * @param maxWaiting maximum number of threads that may wait at the same time
   */
  VerdictBoard(int maxWaiting) {
    this.places = new Semaphore(maxWaiting);
  }

  /** Passes a verdict to its requester, or keeps it until the requester arrives. */
  void publish(SettlementVerdict verdict) {
    of(verdict.position()).complete(verdict);
  }

  /** Waits for a verdict. Returns null after the timeout or if too many threads wait. */
  @Nullable SettlementVerdict await(UsagePosition settlement, Duration timeout) {
    if (!places.tryAcquire()) {
      return null;
    }
    try {
      return of(settlement).get(timeout.toMillis(), TimeUnit.MILLISECONDS);
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
