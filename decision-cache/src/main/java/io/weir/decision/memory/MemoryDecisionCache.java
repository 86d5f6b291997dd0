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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The decision cache kept in this process: for development, tests, and one node alone. Decides one
 * check after another under a lock. Its buckets end with the process.
 */
public final class MemoryDecisionCache implements DecisionCache {
  /** Buckets below which nothing is swept out. */
  private static final int MIN_SWEEP_BUCKETS = 1_024;

  private static final String CLOSED = "the cache is closed";

  private final LongSupplier clockEpochMicros;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Kept> buckets = new HashMap<>();
  private int sweepAboveBuckets = MIN_SWEEP_BUCKETS;
  private boolean warm = true;
  private boolean closed;

  private record Kept(BucketState state, long expiresEpochMicros) {}

  /**
   * An empty cache; it is warm.
   *
   * @param clockEpochMicros gives microseconds since 1970, ≥ 1; it may step back
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros) {
    this.clockEpochMicros = clockEpochMicros;
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

  /** Drops what has expired, each time the number of buckets has doubled. */
  private void sweep(long nowEpochMicros) {
    if (buckets.size() > sweepAboveBuckets) {
      buckets.values().removeIf(kept -> kept.expiresEpochMicros <= nowEpochMicros);
      sweepAboveBuckets = Math.max(MIN_SWEEP_BUCKETS, 2 * buckets.size());
    }
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
