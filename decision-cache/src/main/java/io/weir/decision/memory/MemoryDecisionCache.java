// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import io.weir.decision.BucketState;
import io.weir.decision.Check;
import io.weir.decision.CheckDecider;
import io.weir.decision.CheckDecider.Write;
import io.weir.decision.Decision;
import io.weir.decision.Decision.Cause;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector.Bounded;
import io.weir.decision.correction.BucketCorrector.Outcome;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.CorrectionRule;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The decision cache kept in this process: for development, tests, and one node alone. Decides one
 * check after another under a lock. Its buckets end with the process.
 *
 * <p>It may have a bound on the number of buckets. Above it a quarter is forgotten before their
 * time, which makes them full: first of the clients (hash tags of the keys) that have most, down to
 * a fair share, so that a client that invents names forgets its own; when all have one alike, those
 * that would be full soonest.
 */
public final class MemoryDecisionCache implements DecisionCache {
  /** Buckets below which nothing is swept out. */
  private static final int MIN_SWEEP_BUCKETS = 1_024;

  /** Part of the bound that is kept when it is passed; the rest is room until the next time. */
  private static final double KEPT_AT_BOUND = 0.75;

  private static final String CLOSED = "the cache is closed";

  private final LongSupplier clockEpochMicros;
  private final int maxBuckets;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Kept> buckets = new HashMap<>();
  private int sweepAboveBuckets;
  private long forgottenBuckets;
  private boolean warm = true;
  private boolean closed;

  private record Kept(BucketState state, long expiresEpochMicros) {}

  /**
   * An empty cache without a bound; it is warm.
   *
   * @param clockEpochMicros gives microseconds since 1970, ≥ 1; it may step back
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros) {
    this(clockEpochMicros, Integer.MAX_VALUE);
  }

  /**
   * An empty cache with a bound; it is warm.
   *
   * @param clockEpochMicros gives microseconds since 1970, ≥ 1; it may step back
   * @param maxBuckets most buckets between two calls, ≥ 4
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros, int maxBuckets) {
    if (maxBuckets < 4) {
      throw new IllegalArgumentException("maxBuckets must be at least 4, is " + maxBuckets);
    }
    this.clockEpochMicros = clockEpochMicros;
    this.maxBuckets = maxBuckets;
    sweepAboveBuckets = Math.min(MIN_SWEEP_BUCKETS, maxBuckets);
  }

  @Override
  public Decision take(Check check) {
    return decide(check, false);
  }

  @Override
  public Decision peek(Check check) {
    return decide(check, true);
  }

  private Decision decide(Check check, boolean peek) {
    lock.lock();
    try {
      if (closed) {
        return new Decision.Undecided(Cause.UNAVAILABLE, CLOSED);
      }
      long nowEpochMicros = clockEpochMicros.getAsLong();
      CheckDecider.Outcome outcome =
          CheckDecider.decide(
              check, peek, warm, nowEpochMicros, bucket -> kept(bucket, nowEpochMicros));
      for (Write write : outcome.writes()) {
        keep(write.bucket(), write.state(), write.ttlMillis(), nowEpochMicros);
      }
      sweep(nowEpochMicros);
      return outcome.decision();
    } finally {
      lock.unlock();
    }
  }

  /** Applies corrections one after another. */
  List<Outcome> correct(List<Bounded> corrections) throws CacheUnavailableException {
    lock.lock();
    try {
      if (closed) {
        throw new CacheUnavailableException(CLOSED);
      }
      long nowEpochMicros = clockEpochMicros.getAsLong();
      List<Outcome> outcomes = new ArrayList<>(corrections.size());
      for (Bounded correction : corrections) {
        String bucket = correction.correction().bucket();
        CorrectionRule.Result result =
            CorrectionRule.apply(correction, kept(bucket, nowEpochMicros), nowEpochMicros);
        if (result.state() != null) {
          keep(bucket, result.state(), result.ttlMillis(), nowEpochMicros);
        }
        outcomes.add(result.outcome());
      }
      sweep(nowEpochMicros);
      return outcomes;
    } finally {
      lock.unlock();
    }
  }

  private void keep(String bucket, BucketState state, long ttlMillis, long nowEpochMicros) {
    buckets.put(bucket, new Kept(state, nowEpochMicros + ttlMillis * 1_000));
  }

  /** Says whether the cache's state can be trusted; while it cannot, held buckets wait. */
  public void setWarm(boolean warm) {
    lock.lock();
    try {
      this.warm = warm;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable BucketState kept(String bucket, long nowEpochMicros) {
    Kept kept = buckets.get(bucket);
    return kept == null || kept.expiresEpochMicros <= nowEpochMicros ? null : kept.state;
  }

  /**
   * Drops what has expired, each time the number of buckets has doubled or is above the bound; then
   * forgets what is too much.
   */
  private void sweep(long nowEpochMicros) {
    if (buckets.size() <= sweepAboveBuckets) {
      return;
    }
    buckets.values().removeIf(kept -> kept.expiresEpochMicros <= nowEpochMicros);
    int keep = (int) (maxBuckets * KEPT_AT_BOUND);
    int before = buckets.size();
    if (before > keep) {
      forgetOfTheLargest(keep);
      forgetSoonestFull(keep);
      forgottenBuckets += before - buckets.size();
    }
    sweepAboveBuckets =
        (int) Math.min(maxBuckets, Math.max(MIN_SWEEP_BUCKETS, 2L * buckets.size()));
  }

  /** Leaves each client its fair share, but one bucket at least. */
  private void forgetOfTheLargest(int keep) {
    Map<String, Integer> counts = new HashMap<>();
    buckets.keySet().forEach(bucket -> counts.merge(hashTag(bucket), 1, Integer::sum));
    int share = Math.max(1, fairShare(counts.values(), keep));
    buckets
        .keySet()
        .removeIf(
            bucket -> {
              boolean tooMany = counts.getOrDefault(hashTag(bucket), 0) > share;
              if (tooMany) {
                counts.merge(hashTag(bucket), -1, Integer::sum);
              }
              return tooMany;
            });
  }

  /**
   * The most that each may have, so that all together have no more than is there and none gets less
   * while another has more (max-min fairness: Bertsekas and Gallager, "Data Networks", 6.5.2).
   */
  static int fairShare(Collection<Integer> demands, int available) {
    int[] ascending = demands.stream().mapToInt(Integer::intValue).sorted().toArray();
    int left = available;
    for (int i = 0; i < ascending.length; i++) {
      int share = left / (ascending.length - i);
      if (ascending[i] > share) {
        return share;
      }
      left -= ascending[i];
    }
    return available;
  }

  private void forgetSoonestFull(int keep) {
    int excess = buckets.size() - keep;
    if (excess <= 0) {
      return;
    }
    long last =
        buckets.values().stream()
            .mapToLong(Kept::expiresEpochMicros)
            .sorted()
            .skip(excess - 1L)
            .findFirst()
            .orElseThrow();
    buckets.values().removeIf(kept -> kept.expiresEpochMicros < last);
    Iterator<Kept> atLast = buckets.values().iterator();
    while (buckets.size() > keep) {
      if (atLast.next().expiresEpochMicros == last) {
        atLast.remove();
      }
    }
  }

  /** What stands up to the first closing brace, as of Redis Cluster; the client in our keys. */
  private static String hashTag(String bucket) {
    int end = bucket.indexOf('}');
    return end < 0 ? bucket : bucket.substring(0, end);
  }

  /** The state kept under a bucket, null when there is none. */
  @Nullable BucketState state(String bucket) {
    lock.lock();
    try {
      return kept(bucket, clockEpochMicros.getAsLong());
    } finally {
      lock.unlock();
    }
  }

  /** Buckets kept, expired ones that have not been swept out included. */
  public int bucketCount() {
    lock.lock();
    try {
      return buckets.size();
    } finally {
      lock.unlock();
    }
  }

  /** Buckets forgotten before their time since the cache was made, for want of room. */
  public long forgottenBuckets() {
    lock.lock();
    try {
      return forgottenBuckets;
    } finally {
      lock.unlock();
    }
  }

  /** Forgets every bucket. */
  public void clear() {
    lock.lock();
    try {
      buckets.clear();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public Health check() {
    lock.lock();
    try {
      return closed ? new Health(false, CLOSED) : new Health(true, "in this process");
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      buckets.clear();
    } finally {
      lock.unlock();
    }
  }
}
