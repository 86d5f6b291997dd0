// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * The slots that the cache may have given to calls which were answered without them, since its own
 * answer did not come in time: nobody else would release them before their leases end. Each is of a
 * holder whom only one try of a call has named. Thread-safe; blocks no thread.
 *
 * <p>The calls that were under way when an outage began are the first to be noted, and the only
 * ones that the cache was asked about. So when there are too many, later ones are left out.
 */
final class OwedReleases {
  /** Most calls that are noted: about as many as are under way to the cache at once. */
  static final int MAX_CALLS = 4_096;

  /** Most calls whose slots are released when a call is decided: little beside its own work. */
  private static final int CALLS_AT_ONCE = 4;

  private static final long MICROS_PER_MILLI = 1_000;

  private final BlockingQueue<Owed> calls = new ArrayBlockingQueue<>(MAX_CALLS);
  private final DecisionCache cache;
  private final SlotStatistics statistics;

  /**
   * What is to be released.
   *
   * @param release the buckets with slots, and the claim of the holder
   * @param endEpochMillis when the leases have ended in any case
   */
  private record Owed(Check release, long endEpochMillis) {}

  OwedReleases(DecisionCache cache, SlotStatistics statistics) {
    this.cache = cache;
    this.statistics = statistics;
  }

  /**
   * Notes a check that was not decided.
   *
   * @param check with slots
   * @param nowEpochMillis time by the cache's clock
   */
  void add(Check check, long nowEpochMillis) {
    if (calls.remainingCapacity() == 0) {
      return;
    }
    List<BucketRequest> withSlots = new ArrayList<>();
    long leaseMicros = 0;
    for (BucketRequest bucket : check.buckets()) {
      if (bucket.limit() instanceof ConcurrencyLimit limit) {
        withSlots.add(bucket);
        leaseMicros = Math.max(leaseMicros, limit.leaseMicros());
      }
    }
    boolean unused =
        calls.offer(
            new Owed(check.of(withSlots), nowEpochMillis + leaseMicros / MICROS_PER_MILLI + 1));
  }

  /** Releases what is owed of some calls, since the cache decides again. */
  void release(long nowEpochMillis) {
    for (int i = 0; i < CALLS_AT_ONCE; i++) {
      Owed owed = calls.poll();
      if (owed == null) {
        return;
      }
      if (nowEpochMillis < owed.endEpochMillis) {
        var unused =
            cache.submitRelease(owed.release).thenAccept(decision -> ended(owed, decision));
      }
    }
  }

  private void ended(Owed owed, Decision decision) {
    if (decision instanceof Decision.Undecided) {
      boolean unused = calls.offer(owed);
    } else {
      boolean unused = statistics.countReleased(decision);
    }
  }
}
