// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.SlotClaim;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The releases of slots that the cache has not confirmed. The cache may have given slots to a call
 * after the call's timeout, or a call released slots while the cache was unavailable. Without a
 * retry, these slots would stay occupied until their leases end. Thread-safe; only {@link #drain}
 * blocks.
 *
 * <p>If there are too many pending releases, new releases are dropped. The first releases of an
 * outage are the important ones: only calls at the start of an outage reached the cache.
 */
final class PendingReleases {
  /**
   * Maximum number of calls with pending releases. The cache itself can have about {@value} calls
   * pending.
   */
  static final int MAX_CALLS = 4_096;

  /**
   * Maximum number of releases retried per decided call; {@value} releases need little work
   * compared to the decision.
   */
  static final int PER_DECIDED_CALL = 4;

  /** Maximum number of releases retried at once after a reply of the cache. */
  static final int AT_ONCE = 256;

  private static final long MICROS_PER_MILLI = 1_000;

  /** The pending releases by holder. */
  private final Map<String, PendingRelease> calls = new ConcurrentHashMap<>();

  private final DecisionCache cache;
  private final SlotStatistics statistics;

  /**
   * A pending release.
   *
   * @param release the buckets with slots, and the holder's claim
   * @param endEpochMillis time at which all leases of the slots have ended
   * @param isCounted whether the metrics already count the release
   */
  private record PendingRelease(Check release, long endEpochMillis, boolean isCounted) {
    /** Returns the union of this release and a later release of the same holder. */
    PendingRelease and(PendingRelease later) {
      Map<String, BucketRequest> buckets = new LinkedHashMap<>();
      later.release.buckets().forEach(each -> buckets.put(each.bucket(), each));
      release.buckets().forEach(each -> buckets.putIfAbsent(each.bucket(), each));
      return new PendingRelease(
          release.of(buckets.values().stream().limit(Check.MAX_BUCKETS).toList()),
          Math.max(endEpochMillis, later.endEpochMillis),
          isCounted && later.isCounted);
    }
  }

  PendingReleases(DecisionCache cache, SlotStatistics statistics) {
    this.cache = cache;
    this.statistics = statistics;
  }

  /**
   * Adds the release of slots that an undecided check may have acquired in the cache.
   *
   * @param held keys of the slots that the call holds and will release itself
   * @param nowEpochMillis time by the cache's clock
   */
  void addUndecided(Check check, Set<String> held, long nowEpochMillis) {
    List<BucketRequest> withSlots = new ArrayList<>();
    long leaseMicros = 0;
    for (BucketRequest bucket : check.buckets()) {
      if (bucket.hasSlots() && !held.contains(bucket.bucket())) {
        withSlots.add(bucket);
        leaseMicros = Math.max(leaseMicros, bucket.limit().leaseMicros());
      }
    }
    if (!withSlots.isEmpty()) {
      add(
          new PendingRelease(
              check.of(withSlots), nowEpochMillis + leaseMicros / MICROS_PER_MILLI + 1, false));
    }
  }

  /**
   * Adds a release that the cache did not decide. The release is retried until the claim ends.
   *
   * @param isCounted whether the metrics already count the release
   */
  void addRelease(Check release, SlotClaim claim, boolean isCounted) {
    add(new PendingRelease(release, claim.untilEpochMicros() / MICROS_PER_MILLI + 1, isCounted));
  }

  private void add(PendingRelease pending) {
    SlotClaim claim = pending.release.claim();
    if (claim != null && calls.size() < MAX_CALLS) {
      calls.merge(claim.holder(), pending, PendingRelease::and);
    }
  }

  /** Removes a holder's pending releases, because the holder requests slots again. */
  void forget(String holder) {
    calls.remove(holder);
  }

  /**
   * Retries pending releases now that the cache is available again.
   *
   * @param most maximum number of calls
   * @return completes with true if the cache decided all these releases, otherwise with false
   */
  CompletableFuture<Boolean> release(long nowEpochMillis, int most) {
    CompletableFuture<Boolean> all = CompletableFuture.completedFuture(true);
    List<PendingRelease> taken = calls.isEmpty() ? List.of() : take(most);
    for (PendingRelease pending : taken) {
      if (nowEpochMillis < pending.endEpochMillis) {
        all =
            all.thenCombine(
                submit(pending.release).thenApply(decision -> ended(pending, decision)),
                Boolean::logicalAnd);
      }
    }
    return all;
  }

  /**
   * Releases slots. If the value of a key is not a set of slots, the cache releases no slot of the
   * check. In this case the method releases each bucket separately, and abandons the release of
   * that key. A retry would fail until an operator deletes the key, and this deletion also frees
   * the slots.
   *
   * @return the decision on all slots except those with an abandoned release
   */
  CompletableFuture<Decision> submit(Check release) {
    return cache
        .submitRelease(release)
        .thenCompose(
            decision ->
                isCorrupt(decision)
                    ? releaseEach(release)
                    : CompletableFuture.completedFuture(decision));
  }

  private CompletableFuture<Decision> releaseEach(Check release) {
    if (release.buckets().size() == 1) {
      statistics.abandoned.increment();
      return CompletableFuture.completedFuture(new Decision.Allowed(0, List.of()));
    }
    CompletableFuture<Decision> all =
        CompletableFuture.completedFuture(new Decision.Allowed(0, List.of()));
    for (BucketRequest bucket : release.buckets()) {
      all = all.thenCombine(submit(release.of(List.of(bucket))), PendingReleases::both);
    }
    return all;
  }

  /**
   * Combines the replies of two decisions that are "allowed"; otherwise returns the first decision
   * that is not "allowed".
   */
  private static Decision both(Decision first, Decision second) {
    if (first instanceof Decision.Allowed one && second instanceof Decision.Allowed other) {
      List<BucketReply> replies = new ArrayList<>(one.buckets());
      replies.addAll(other.buckets());
      return new Decision.Allowed(
          Math.max(one.decidedAtEpochMicros(), other.decidedAtEpochMicros()), replies);
    }
    return first instanceof Decision.Allowed ? second : first;
  }

  private static boolean isCorrupt(Decision decision) {
    return decision instanceof Decision.Undecided undecided
        && undecided.cause() == Decision.Cause.CORRUPT;
  }

  private List<PendingRelease> take(int most) {
    List<PendingRelease> taken = new ArrayList<>();
    Iterator<Map.Entry<String, PendingRelease>> each = calls.entrySet().iterator();
    while (taken.size() < most && each.hasNext()) {
      Map.Entry<String, PendingRelease> next = each.next();
      if (calls.remove(next.getKey(), next.getValue())) {
        taken.add(next.getValue());
      }
    }
    return taken;
  }

  private boolean ended(PendingRelease pending, Decision decision) {
    if (decision instanceof Decision.Undecided) {
      add(pending);
      return false;
    }
    if (!pending.isCounted) {
      boolean unused = statistics.countReleased(decision);
    }
    return true;
  }

  /** Retries all pending releases until one fails or the timeout passes. Waits for the results. */
  void drain(long nowEpochMillis, Duration timeout) {
    long end = System.nanoTime() + timeout.toNanos();
    while (!calls.isEmpty() && System.nanoTime() < end) {
      if (!release(nowEpochMillis, AT_ONCE).join()) {
        return;
      }
    }
  }
}
