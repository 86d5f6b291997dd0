// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import io.weir.decision.DecisionCache;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.BucketState;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.Write;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionRule;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The decision cache kept in this process: for development, tests, and one node alone. Decides one
 * check after another under a lock. Its buckets end with the process.
 *
 * <p>It may have a bound on the number of buckets. Each one more makes another be forgotten: of a
 * few taken at random one that is full by now; else before its time one of the client (hash tag of
 * the key) that has most, so that a client that invents names forgets its own; when all have as
 * many, the one that would be full soonest.
 */
public final class MemoryDecisionCache implements DecisionCache {
  /** Buckets below which nothing is swept out. */
  private static final int MIN_SWEEP_BUCKETS = 1_024;

  /**
   * Buckets looked at to find one to forget. Keeps the work for each new one small and alike, where
   * going through all made every 25,000th check wait for 40 to 200 ms. The scheme is that of
   * Psounis and Prabhakar, "A randomized web-cache replacement scheme", INFOCOM 2001.
   */
  private static final int SAMPLE = 8;

  private static final String CLOSED = "the cache is closed";

  private final LongSupplier clockEpochMicros;
  private final int maxBuckets;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Kept> buckets = new HashMap<>();
  private final List<String> names = new ArrayList<>();
  private final Map<String, Integer> bucketsOfTag = new HashMap<>();
  private final SplittableRandom random = new SplittableRandom(1);
  private int sweepAboveBuckets = MIN_SWEEP_BUCKETS;
  private long forgottenBuckets;
  private boolean warm = true;
  private boolean closed;

  /** A bucket, and where its name stands. */
  private static final class Kept {
    int index;
    BucketState state;
    long expiresEpochMicros;

    Kept(int index, BucketState state, long expiresEpochMicros) {
      this.index = index;
      this.state = state;
      this.expiresEpochMicros = expiresEpochMicros;
    }
  }

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
   * @param maxBuckets most buckets between two calls, ≥ 1
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros, int maxBuckets) {
    if (maxBuckets < 1) {
      throw new IllegalArgumentException("maxBuckets must be at least 1, is " + maxBuckets);
    }
    this.clockEpochMicros = clockEpochMicros;
    this.maxBuckets = maxBuckets;
  }

  @Override
  public PendingDecision submit(Check check) {
    Decision decision = decide(check, false);
    return () -> decision;
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
  List<CorrectionOutcome> correct(List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    lock.lock();
    try {
      if (closed) {
        throw new CacheUnavailableException(CLOSED);
      }
      long nowEpochMicros = clockEpochMicros.getAsLong();
      List<CorrectionOutcome> outcomes = new ArrayList<>(corrections.size());
      for (BoundedCorrection correction : corrections) {
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
    long expires = nowEpochMicros + ttlMillis * 1_000;
    Kept kept = buckets.get(bucket);
    if (kept != null) {
      kept.state = state;
      kept.expiresEpochMicros = expires;
      return;
    }
    buckets.put(bucket, new Kept(names.size(), state, expires));
    names.add(bucket);
    bucketsOfTag.merge(hashTag(bucket), 1, Integer::sum);
  }

  private void remove(String bucket) {
    Kept kept = Objects.requireNonNull(buckets.remove(bucket));
    String last = names.remove(names.size() - 1);
    if (kept.index < names.size()) {
      names.set(kept.index, last);
      Objects.requireNonNull(buckets.get(last)).index = kept.index;
    }
    bucketsOfTag.computeIfPresent(hashTag(bucket), (tag, count) -> count == 1 ? null : count - 1);
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

  /** Drops what has expired, each time the number of buckets has doubled; then what is too much. */
  private void sweep(long nowEpochMicros) {
    if (buckets.size() > sweepAboveBuckets) {
      for (int i = names.size() - 1; i >= 0; i--) {
        if (kept(names.get(i), nowEpochMicros) == null) {
          remove(names.get(i));
        }
      }
      sweepAboveBuckets = Math.max(MIN_SWEEP_BUCKETS, 2 * buckets.size());
    }
    while (buckets.size() > maxBuckets) {
      forgetOne(nowEpochMicros);
    }
  }

  private void forgetOne(long nowEpochMicros) {
    String chosen = names.get(random.nextInt(names.size()));
    for (int i = 1; i < SAMPLE; i++) {
      String other = names.get(random.nextInt(names.size()));
      chosen = isRatherForgotten(other, chosen, nowEpochMicros) ? other : chosen;
    }
    forgottenBuckets += isExpired(chosen, nowEpochMicros) ? 0 : 1;
    remove(chosen);
  }

  private boolean isRatherForgotten(String one, String other, long nowEpochMicros) {
    if (isExpired(one, nowEpochMicros) || isExpired(other, nowEpochMicros)) {
      return isExpired(one, nowEpochMicros);
    }
    int more = bucketsOfTag(one) - bucketsOfTag(other);
    return more > 0 || (more == 0 && expires(one) < expires(other));
  }

  private int bucketsOfTag(String bucket) {
    return bucketsOfTag.getOrDefault(hashTag(bucket), 0);
  }

  private boolean isExpired(String bucket, long nowEpochMicros) {
    return expires(bucket) <= nowEpochMicros;
  }

  private long expires(String bucket) {
    return Objects.requireNonNull(buckets.get(bucket)).expiresEpochMicros;
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
      forgetAll();
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
      forgetAll();
    } finally {
      lock.unlock();
    }
  }

  private void forgetAll() {
    buckets.clear();
    names.clear();
    bucketsOfTag.clear();
  }
}
