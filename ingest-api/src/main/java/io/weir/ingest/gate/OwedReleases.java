// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.ConcurrencyLimit;
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
 * The slots that the cache may have, and that nobody else would release before their leases end:
 * those that it may have given to calls which were answered without them, since its own answer did
 * not come in time, and those that were released while it did not answer. Thread-safe; blocks no
 * thread but the one that drains it.
 *
 * <p>The calls that were under way when an outage began are the first to be noted, and the only
 * ones that the cache was asked about. So when there are too many, later ones are left out.
 */
final class OwedReleases {
  /** Most calls that are noted: about as many as are under way to the cache at once. */
  static final int MAX_CALLS = 4_096;

  /** Most calls whose slots are released when a call is decided: little beside its own work. */
  static final int BESIDE_A_CALL = 4;

  /** Most calls whose slots are released at once when the cache is known to answer. */
  static final int AT_ONCE = 256;

  private static final long MICROS_PER_MILLI = 1_000;

  /** By the holder. */
  private final Map<String, Owed> calls = new ConcurrentHashMap<>();

  private final DecisionCache cache;
  private final SlotStatistics statistics;

  /**
   * What is to be released.
   *
   * @param release the buckets with slots, and the claim of the holder
   * @param endEpochMillis when the leases have ended in any case
   * @param isCounted whether the release has been counted already
   */
  private record Owed(Check release, long endEpochMillis, boolean isCounted) {
    /** Returns what this and what a later one of the same holder release. */
    Owed and(Owed later) {
      Map<String, BucketRequest> buckets = new LinkedHashMap<>();
      later.release.buckets().forEach(each -> buckets.put(each.bucket(), each));
      release.buckets().forEach(each -> buckets.putIfAbsent(each.bucket(), each));
      return new Owed(
          release.of(buckets.values().stream().limit(Check.MAX_BUCKETS).toList()),
          Math.max(endEpochMillis, later.endEpochMillis),
          isCounted && later.isCounted);
    }
  }

  OwedReleases(DecisionCache cache, SlotStatistics statistics) {
    this.cache = cache;
    this.statistics = statistics;
  }

  /**
   * Notes a check that was not decided.
   *
   * @param held the keys of the slots that the call holds all the same, which it releases itself
   * @param nowEpochMillis time by the cache's clock
   */
  void addUndecided(Check check, Set<String> held, long nowEpochMillis) {
    List<BucketRequest> withSlots = new ArrayList<>();
    long leaseMicros = 0;
    for (BucketRequest bucket : check.buckets()) {
      if (bucket.limit() instanceof ConcurrencyLimit limit && !held.contains(bucket.bucket())) {
        withSlots.add(bucket);
        leaseMicros = Math.max(leaseMicros, limit.leaseMicros());
      }
    }
    if (!withSlots.isEmpty()) {
      add(
          new Owed(
              check.of(withSlots), nowEpochMillis + leaseMicros / MICROS_PER_MILLI + 1, false));
    }
  }

  /**
   * Notes a release that was not decided; its end is that of the claim.
   *
   * @param isCounted whether it has been counted already
   */
  void addRelease(Check release, SlotClaim claim, boolean isCounted) {
    add(new Owed(release, claim.untilEpochMicros() / MICROS_PER_MILLI + 1, isCounted));
  }

  private void add(Owed owed) {
    SlotClaim claim = owed.release.claim();
    if (claim != null && calls.size() < MAX_CALLS) {
      calls.merge(claim.holder(), owed, Owed::and);
    }
  }

  /** Forgets what a holder has released, since it asks for slots again. */
  void forget(String holder) {
    calls.remove(holder);
  }

  /**
   * Releases what is owed of some calls, since the cache decides again.
   *
   * @param most how many calls
   * @return completed when all of it is decided: whether none is left undecided
   */
  CompletableFuture<Boolean> release(long nowEpochMillis, int most) {
    CompletableFuture<Boolean> all = CompletableFuture.completedFuture(true);
    List<Owed> taken = calls.isEmpty() ? List.of() : take(most);
    for (Owed owed : taken) {
      if (nowEpochMillis < owed.endEpochMillis) {
        all =
            all.thenCombine(
                submit(owed.release).thenApply(decision -> ended(owed, decision)),
                Boolean::logicalAnd);
      }
    }
    return all;
  }

  /**
   * Releases slots. If a key's value is not a set of slots, the cache releases nothing of the
   * check. Each bucket is then released on its own, and the release of such a key is abandoned: the
   * cache cannot complete it before an operator deletes the key, and then no slot is held there.
   *
   * @return the decision about the slots whose release was not abandoned
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
      all = all.thenCombine(submit(release.of(List.of(bucket))), OwedReleases::both);
    }
    return all;
  }

  /** Returns the first decision that released nothing; if both released, one with all replies. */
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

  private List<Owed> take(int most) {
    List<Owed> taken = new ArrayList<>();
    Iterator<Map.Entry<String, Owed>> each = calls.entrySet().iterator();
    while (taken.size() < most && each.hasNext()) {
      Map.Entry<String, Owed> next = each.next();
      if (calls.remove(next.getKey(), next.getValue())) {
        taken.add(next.getValue());
      }
    }
    return taken;
  }

  private boolean ended(Owed owed, Decision decision) {
    if (decision instanceof Decision.Undecided) {
      add(owed);
      return false;
    }
    if (!owed.isCounted) {
      boolean unused = statistics.countReleased(decision);
    }
    return true;
  }

  /** Releases all that is owed, and waits for it, as long as the cache decides. */
  void drain(long nowEpochMillis, Duration patience) {
    long end = System.nanoTime() + patience.toNanos();
    while (!calls.isEmpty() && System.nanoTime() < end) {
      if (!release(nowEpochMillis, AT_ONCE).join()) {
        return;
      }
    }
  }
}
