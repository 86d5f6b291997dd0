// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import io.weir.decision.DecisionCache;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketState;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.SlotState;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.CheckDecider.LogWrite;
import io.weir.limits.check.CheckDecider.Restart;
import io.weir.limits.check.CheckDecider.SlotWrite;
import io.weir.limits.check.CheckDecider.Write;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A decision cache in the memory of this process, for development, tests and a single node. A lock
 * serializes the checks. All buckets are lost when the process ends. Thread-safe.
 *
 * <p>The cache can have a bound on the number of buckets. For each bucket above the bound, the
 * cache evicts one bucket of a small random sample. If the sample contains an expired bucket, the
 * cache evicts that bucket. Otherwise the cache evicts a bucket of the owner with the most buckets.
 * The owner of a bucket is the client, or the policy if clients share the policy's buckets. A
 * client that calls many invented endpoints therefore evicts its own buckets. If two owners have
 * the same number of buckets, the cache evicts the bucket that will expire first.
 */
public final class MemoryDecisionCache implements DecisionCache {
  /** The cache does not remove expired buckets while it has at most this number of buckets. */
  private static final int MIN_SWEEP_BUCKETS = 1_024;

  /**
   * Sample size for an eviction. With a sample, the work per new bucket is small and constant. When
   * the cache scanned all buckets instead, every 25,000th check waited for 40 to 200 ms. The
   * algorithm is from Psounis and Prabhakar, "A randomized web-cache replacement scheme", INFOCOM
   * 2001.
   */
  private static final int SAMPLE = 8;

  private static final String CLOSED = "the cache is closed";

  private final LongSupplier clockEpochMicros;
  private final int maxBuckets;
  private final ReentrantLock lock = new ReentrantLock();
  private final Map<String, Kept> buckets = new HashMap<>();
  private final List<String> names = new ArrayList<>();
  private final Map<String, Integer> bucketsOfOwner = new HashMap<>();
  private final SplittableRandom random = new SplittableRandom(1);
  private int sweepAboveBuckets = MIN_SWEEP_BUCKETS;
  private long forgottenBuckets;
  private boolean warm = true;
  private boolean closed;

  /**
   * The content of a bucket: its state, its log or its slots.
   *
   * @param state {@link BucketState#NONE} for a bucket with a log or slots
   */
  private record Content(BucketState state, @Nullable LogState log, @Nullable SlotState slots) {
    static final Content NONE = of(BucketState.NONE);

    static Content of(BucketState state) {
      return new Content(state, null, null);
    }
  }

  /** A stored bucket: its content, and the index of its key in the list of keys. */
  private static final class Kept {
    int index;
    Content content = Content.NONE;
    long expiresEpochMicros;

    Kept(int index) {
      this.index = index;
    }
  }

  /**
   * Creates an empty cache without a bound. The cache is restored.
   *
   * @param clockEpochMicros returns microseconds since 1970, ≥ 1; may step back
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros) {
    this(clockEpochMicros, Integer.MAX_VALUE);
  }

  /**
   * Creates an empty cache with a bound. The cache is restored.
   *
   * @param clockEpochMicros returns microseconds since 1970, ≥ 1; may step back
   * @param maxBuckets maximum number of buckets after each call, ≥ 1
   * @throws IllegalArgumentException if {@code maxBuckets} is below 1
   */
  public MemoryDecisionCache(LongSupplier clockEpochMicros, int maxBuckets) {
    if (maxBuckets < 1) {
      throw new IllegalArgumentException("maxBuckets must be at least 1, but is " + maxBuckets);
    }
    this.clockEpochMicros = clockEpochMicros;
    this.maxBuckets = maxBuckets;
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    return CompletableFuture.completedFuture(decide(check, false));
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    return CompletableFuture.completedFuture(decide(check, true));
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    return CompletableFuture.completedFuture(
        apply(nowMicros -> CheckDecider.release(check, nowMicros, keptAt(nowMicros))));
  }

  private Decision decide(Check check, boolean peek) {
    return apply(nowMicros -> CheckDecider.decide(check, peek, warm, nowMicros, keptAt(nowMicros)));
  }

  /**
   * Calls the decider with the current time, stores the decider's writes, and returns the decision.
   */
  private Decision apply(LongFunction<CheckDecider.Outcome> decider) {
    lock.lock();
    try {
      if (closed) {
        return new Decision.Undecided(Cause.UNAVAILABLE, CLOSED);
      }
      long nowEpochMicros = clockEpochMicros.getAsLong();
      CheckDecider.Outcome outcome = decider.apply(nowEpochMicros);
      for (Write write : outcome.writes()) {
        keep(write.bucket(), Content.of(write.state()), write.ttlMillis(), nowEpochMicros);
      }
      for (Restart restart : outcome.restarts()) {
        Objects.requireNonNull(buckets.get(restart.bucket())).content = Content.of(restart.state());
      }
      for (LogWrite write : outcome.logs()) {
        Content log = new Content(BucketState.NONE, write.log(), null);
        keep(write.bucket(), log, write.ttlMillis(), nowEpochMicros);
      }
      for (SlotWrite write : outcome.slots()) {
        Content slots = new Content(BucketState.NONE, null, write.slots());
        keep(write.bucket(), slots, write.ttlMillis(), nowEpochMicros);
      }
      sweep(nowEpochMicros);
      return outcome.decision();
    } finally {
      lock.unlock();
    }
  }

  private KeptBuckets keptAt(long nowEpochMicros) {
    return new KeptBuckets() {
      @Override
      public @Nullable BucketState state(String bucket) {
        return kept(bucket, nowEpochMicros);
      }

      @Override
      public @Nullable LogState log(String bucket) {
        Content content = content(bucket, nowEpochMicros);
        return content == null ? null : content.log();
      }

      @Override
      public @Nullable SlotState slots(String bucket) {
        Content content = content(bucket, nowEpochMicros);
        return content == null ? null : content.slots();
      }
    };
  }

  private void keep(String bucket, Content content, long ttlMillis, long nowEpochMicros) {
    long expires = nowEpochMicros + ttlMillis * 1_000;
    Kept kept = buckets.get(bucket);
    if (kept == null) {
      kept = new Kept(names.size());
      buckets.put(bucket, kept);
      names.add(bucket);
      bucketsOfOwner.merge(BucketKey.ownerOf(bucket), 1, Integer::sum);
    }
    kept.content = content;
    kept.expiresEpochMicros = expires;
  }

  private void remove(String bucket) {
    Kept kept = Objects.requireNonNull(buckets.remove(bucket));
    String last = names.remove(names.size() - 1);
    if (kept.index < names.size()) {
      names.set(kept.index, last);
      Objects.requireNonNull(buckets.get(last)).index = kept.index;
    }
    bucketsOfOwner.computeIfPresent(
        BucketKey.ownerOf(bucket), (tag, count) -> count == 1 ? null : count - 1);
  }

  /**
   * Sets whether the cache is restored. While the cache is not restored, a check is undecided if an
   * enforced policy of the check has {@code on_cold_cache: hold}.
   */
  public void setWarm(boolean warm) {
    lock.lock();
    try {
      this.warm = warm;
    } finally {
      lock.unlock();
    }
  }

  private @Nullable BucketState kept(String bucket, long nowEpochMicros) {
    Content content = content(bucket, nowEpochMicros);
    return content == null ? null : content.state();
  }

  private @Nullable Content content(String bucket, long nowEpochMicros) {
    Kept kept = buckets.get(bucket);
    return kept == null || kept.expiresEpochMicros <= nowEpochMicros ? null : kept.content;
  }

  /**
   * Removes expired buckets each time the number of buckets has doubled, and then removes buckets
   * above the bound.
   */
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
    int more = bucketsOfOwner(one) - bucketsOfOwner(other);
    return more > 0 || (more == 0 && expires(one) < expires(other));
  }

  private int bucketsOfOwner(String bucket) {
    return bucketsOfOwner.getOrDefault(BucketKey.ownerOf(bucket), 0);
  }

  private boolean isExpired(String bucket, long nowEpochMicros) {
    return expires(bucket) <= nowEpochMicros;
  }

  private long expires(String bucket) {
    return Objects.requireNonNull(buckets.get(bucket)).expiresEpochMicros;
  }

  /** Returns whether a bucket is stored and has not expired. */
  public boolean has(String bucket) {
    lock.lock();
    try {
      return content(bucket, clockEpochMicros.getAsLong()) != null;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of stored buckets, including expired buckets that have not been removed. */
  public int bucketCount() {
    lock.lock();
    try {
      return buckets.size();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of buckets that the cache has evicted before they expired. */
  public long forgottenBuckets() {
    lock.lock();
    try {
      return forgottenBuckets;
    } finally {
      lock.unlock();
    }
  }

  /** Removes every bucket. */
  public void clear() {
    lock.lock();
    try {
      forgetAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Removes all buckets except slots with a lease that has not ended. The calls that hold these
   * slots may still be in progress.
   */
  public void clearAllButSlots() {
    lock.lock();
    try {
      long nowEpochMicros = clockEpochMicros.getAsLong();
      for (int i = names.size() - 1; i >= 0; i--) {
        Content content = content(names.get(i), nowEpochMicros);
        if (content == null || content.slots() == null) {
          remove(names.get(i));
        }
      }
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
    bucketsOfOwner.clear();
  }
}
