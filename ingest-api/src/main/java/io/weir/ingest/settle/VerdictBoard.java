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
 * Where verdicts are put up and waited for. One that comes before it is waited for is kept, so that
 * neither need be first. Safe for threads.
 */
final class VerdictBoard {
  /** Verdicts that are kept or waited for; the oldest is let go of. */
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
   * An empty board.
   *
   * @param maxWaiting how many may wait at once; each keeps a thread of the node
   */
  VerdictBoard(int maxWaiting) {
    this.places = new Semaphore(maxWaiting);
  }

  /** Puts a verdict up. */
  void tell(SettlementVerdict verdict) {
    of(verdict.position()).complete(verdict);
  }

  /** Waits for a verdict; null when it does not come in time, or too many wait. */
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
