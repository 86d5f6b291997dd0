// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.BucketLimit;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.FailureMode;
import io.weir.limits.policy.MatchedPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Decides on this node alone, by its share of each limit, while the decision cache cannot.
 * Thread-safe.
 *
 * <p>The buckets are in memory. A bucket holds at most this node's share of what the cache last
 * reported as left, plus the refill since; a bucket of which the cache reported nothing to this
 * node starts full. So an outage, or a sequence of short ones, does not admit again what the cache
 * has admitted through this node. Buckets are discarded after {@value #FORGET_AFTER_MILLIS} ms
 * without a decision here, slots when their leases have ended. If there are more than {@value
 * #MAX_BUCKETS} buckets, some are discarded sooner and start full again, those of the clients with
 * the most buckets first.
 *
 * <p>A cost above the share, though not above the limit, is denied until the cache is back: the
 * bound takes precedence over a large call.
 */
public final class LocalDecider {
  /** Most nodes that may share the traffic. */
  public static final int MAX_NODES = 1_000;

  /** Bounds the memory; a bucket takes about 400 bytes. */
  static final int MAX_BUCKETS = 100_000;

  /**
   * How long the buckets are kept after the last decision here, so that a cache with intermittent
   * outages does not refill them each time.
   */
  static final long FORGET_AFTER_MILLIS = 60_000;

  /**
   * How long a caller whose cost is above the share is asked to wait; the cache may be back by
   * then.
   */
  static final long RETRY_AFTER_MICROS = 1_000_000;

  /** Most shares that are kept; quotas create a new one each period. */
  private static final int MAX_SHARES = 4_096;

  private final int nodes;
  private final LongSupplier clockEpochMicros;
  private final ReentrantLock lock = new ReentrantLock();

  /** What the cache last reported of a bucket, until the next local decision on the bucket. */
  private final Cache<String, Level> levels =
      Caffeine.newBuilder().maximumSize(MAX_BUCKETS).executor(Runnable::run).build();

  private final Map<BucketLimit, BucketLimit> shares = new ConcurrentHashMap<>();
  private final MemoryDecisionCache memory;
  private volatile boolean used;
  private volatile long lastUsedEpochMillis;

  /**
   * What the cache reported of a bucket.
   *
   * @param usedTokens whole tokens that were missing from a full bucket
   * @param fullAtEpochMicros when the bucket is full if nothing more is taken, by the cache's clock
   */
  private record Level(long usedTokens, long fullAtEpochMicros) {}

  /**
   * Creates a decider without buckets.
   *
   * @param nodes number of nodes that share the traffic, 1 to {@value #MAX_NODES}
   * @param clockEpochMicros the decision cache's clock as this node knows it, ≥ 1
   */
  public LocalDecider(int nodes, LongSupplier clockEpochMicros) {
    if (nodes < 1 || nodes > MAX_NODES) {
      throw new IllegalArgumentException("nodes must be 1 to " + MAX_NODES + ", is " + nodes);
    }
    this.nodes = nodes;
    this.clockEpochMicros = clockEpochMicros;
    memory = new MemoryDecisionCache(clockEpochMicros, MAX_BUCKETS);
  }

  /**
   * Takes the cost from the share of each bucket, or from none.
   *
   * @param whole what the cache was asked; the replies are in the same order
   * @param peek true to take nothing
   * @param nowEpochMillis the time of the decision, by the cache's clock
   */
  Decision.Decided decide(Check whole, boolean peek, long nowEpochMillis) {
    List<BucketRequest> buckets = whole.buckets();
    List<BucketRequest> asked = new ArrayList<>(buckets.size());
    for (BucketRequest bucket : buckets) {
      asked.add(new BucketRequest(bucket.bucket(), share(bucket.limit()), true));
    }
    Decision decision;
    lock.lock();
    try {
      lastUsedEpochMillis = nowEpochMillis;
      used = true;
      for (int i = 0; i < buckets.size(); i++) {
        lowerToReportedLevel(buckets.get(i), asked.get(i));
      }
      Check check = whole.of(asked);
      decision = peek ? memory.peek(check) : memory.take(check);
    } finally {
      lock.unlock();
    }
    if (decision instanceof Decision.Denied denied && denied.costExceedsCapacity()) {
      return aboveAShare(buckets, whole.cost(), denied);
    }
    if (decision instanceof Decision.Decided decided) {
      return decided;
    }
    throw new IllegalStateException("a cache in memory must decide, but said " + decision);
  }

  /**
   * Lowers a share to its part of the tokens that the cache last reported as left. The part is
   * rounded up, so that many nodes do not refuse the last tokens of a small bucket. Each report is
   * used once: the share itself counts the local decisions after it.
   */
  private void lowerToReportedLevel(BucketRequest whole, BucketRequest share) {
    Level level = levels.getIfPresent(whole.bucket());
    if (level == null) {
      return;
    }
    levels.invalidate(whole.bucket());
    long nowEpochMicros = clockEpochMicros.getAsLong();
    if (level.fullAtEpochMicros() <= nowEpochMicros) {
      return;
    }
    long left =
        whole.limit().levelTokens(level.fullAtEpochMicros(), level.usedTokens(), nowEpochMicros);
    long part = (Math.max(0, left) + nodes - 1) / nodes;
    long excess = remainingTokens(share) - part;
    if (excess > 0) {
      memory.take(new Check(List.of(share), excess));
    }
  }

  /**
   * Returns the denial with a retry time if the cost is above the share only, since waiting then
   * helps; not if it is above the limit itself.
   */
  private static Decision.Denied aboveAShare(
      List<BucketRequest> buckets, long costTokens, Decision.Denied denied) {
    int deciding = denied.decidingBucket();
    boolean never = false;
    List<BucketReply> replies = new ArrayList<>(buckets.size());
    for (int i = 0; i < buckets.size(); i++) {
      BucketReply reply = denied.buckets().get(i);
      if (!buckets.get(i).limit().canHold(costTokens)) {
        deciding = never ? deciding : i;
        never = true;
        replies.add(reply);
      } else {
        replies.add(
            reply.retryAfterMicros() < 0 ? withRetryAfter(reply, RETRY_AFTER_MICROS) : reply);
      }
    }
    return new Decision.Denied(denied.decidedAtEpochMicros(), replies, deciding, never);
  }

  private static BucketReply withRetryAfter(BucketReply reply, long retryAfterMicros) {
    return new BucketReply(
        reply.sufficient(),
        reply.remainingTokens(),
        reply.resetMicros(),
        retryAfterMicros,
        reply.epoch(),
        reply.version(),
        reply.chargedTokens(),
        reply.charged());
  }

  /**
   * Releases the slots that a holder has on this node.
   *
   * @param check buckets with slots, and the claim of the holder
   */
  Decision release(Check check) {
    return memory.submitRelease(check).join();
  }

  /** Returns this node's share of a limit. */
  BucketLimit share(BucketLimit limit) {
    BucketLimit known = shares.get(limit);
    if (known != null) {
      return known;
    }
    if (shares.size() >= MAX_SHARES) {
      shares.clear();
    }
    BucketLimit share = limit.shareOf(nodes);
    shares.put(limit, share);
    return share;
  }

  /**
   * Records a decision of the cache, so that the next outage does not admit the same tokens again.
   * Discards the buckets once the cache has decided for long enough; but slots that are held count
   * in the next outage, too.
   *
   * @param buckets the buckets of the check, in the order of the decision's replies
   * @param decided the decision
   * @param costTokens the cost of the check, ≥ 1
   */
  void cacheDecided(
      List<MatchedPolicy> buckets, Decision.Decided decided, long costTokens, long nowEpochMillis) {
    for (int i = 0; i < buckets.size(); i++) {
      BucketRequest bucket = buckets.get(i).bucket();
      BucketReply reply = decided.buckets().get(i);
      if (buckets.get(i).policy().onCacheFailure() == FailureMode.LOCAL
          && !(bucket.limit() instanceof ConcurrencyLimit)) {
        if (used && reply.charged()) {
          lower(bucket, costTokens);
        }
        levels.put(
            bucket.bucket(),
            new Level(
                bucket.limit().capacityTokens() - reply.remainingTokens(),
                decided.decidedAtEpochMicros() + reply.resetMicros()));
      }
    }
    if (used && nowEpochMillis - lastUsedEpochMillis >= FORGET_AFTER_MILLIS) {
      memory.clearAllButSlots();
      lastUsedEpochMillis = nowEpochMillis;
      used = memory.bucketCount() > 0;
    }
  }

  /**
   * Takes from a share, if it exists, what the cache has admitted here: between short outages the
   * cache does not know yet what was decided locally.
   */
  private void lower(BucketRequest whole, long costTokens) {
    lock.lock();
    try {
      if (memory.has(whole.bucket())) {
        BucketRequest share = new BucketRequest(whole.bucket(), share(whole.limit()), true);
        long taken = Math.min(costTokens, remainingTokens(share));
        if (taken > 0) {
          memory.take(new Check(List.of(share), taken));
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private long remainingTokens(BucketRequest share) {
    return memory.peek(new Check(List.of(share), 1)) instanceof Decision.Decided found
        ? found.buckets().get(0).remainingTokens()
        : 0;
  }

  /** Returns the number of buckets kept; those of slots are kept for longer than others. */
  public int bucketCount() {
    return memory.bucketCount();
  }

  /** Returns the number of buckets discarded because there were too many; they start full again. */
  public long forgottenBuckets() {
    return memory.forgottenBuckets();
  }
}
