// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.BucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.MatchedPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * Decides calls by this node's share of each limit while the decision cache is unavailable.
 * Thread-safe.
 *
 * <p>The buckets are in memory. A bucket starts with this node's share of the tokens that the cache
 * last reported as left, plus the refill since the report. A bucket without a report starts full.
 * Tokens that calls of this node took from the cache are therefore not available again in an
 * outage. The decider discards buckets after {@value #FORGET_AFTER_MILLIS} ms without a local
 * decision, and slots when their leases end. When there are more than {@value #MAX_BUCKETS}
 * buckets, the decider first discards buckets of the clients with the most buckets. A discarded
 * bucket starts full again.
 *
 * <p>The decider denies a cost that exceeds the share, even if the limit would permit the cost. A
 * call that costs more than the share can succeed only when the cache is available again.
 */
public final class LocalDecider {
  /** Maximum number of nodes that share the traffic. */
  public static final int MAX_NODES = 1_000;

  /** Maximum number of buckets. A bucket takes about 400 bytes of memory. */
  static final int MAX_BUCKETS = 100_000;

  /**
   * Time after the last local decision at which the decider discards the buckets. Outages at
   * intervals below this time therefore do not refill the buckets.
   */
  static final long FORGET_AFTER_MILLIS = 60_000;

  /**
   * Retry time for a caller whose cost exceeds the share. By that time the cache may be available
   * again.
   */
  static final long RETRY_AFTER_MICROS = 1_000_000;

  /** Maximum number of shares in memory. A quota needs a new share in each period. */
  private static final int MAX_SHARES = 4_096;

  private final int nodes;
  private final LongSupplier clockEpochMicros;
  private final ReentrantLock lock = new ReentrantLock();

  /** The last report of the cache on each bucket, until the next local decision on the bucket. */
  private final Cache<String, Level> levels =
      Caffeine.newBuilder().maximumSize(MAX_BUCKETS).executor(Runnable::run).build();

  private final Map<BucketLimit, BucketLimit> shares = new ConcurrentHashMap<>();
  private final MemoryDecisionCache memory;
  private volatile boolean used;
  private volatile long lastUsedEpochMillis;

  /**
   * A report of the cache on a bucket.
   *
   * @param usedTokens number of whole tokens by which the bucket is below its capacity
   * @param fullAtEpochMicros time by the cache's clock at which the bucket will be full if no call
   *     takes tokens
   */
  private record Level(long usedTokens, long fullAtEpochMicros) {}

  /**
   * Creates a decider without buckets.
   *
   * @param nodes number of nodes that share the traffic, 1 to {@value #MAX_NODES}
   * @param clockEpochMicros returns this node's estimate of the cache's clock, ≥ 1
   */
  public LocalDecider(int nodes, LongSupplier clockEpochMicros) {
    if (nodes < 1 || nodes > MAX_NODES) {
      throw new IllegalArgumentException("nodes must be 1 to " + MAX_NODES + ", but is " + nodes);
    }
    this.nodes = nodes;
    this.clockEpochMicros = clockEpochMicros;
    memory = new MemoryDecisionCache(clockEpochMicros, MAX_BUCKETS);
  }

  /**
   * Takes the cost of a check from this node's share of every bucket, or from no share.
   *
   * @param whole the check that the cache did not decide; the replies of the returned decision have
   *     the order of its buckets
   * @param peek true to take no tokens
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
    throw new IllegalStateException("the in-memory cache must decide, but returned " + decision);
  }

  /**
   * Lowers a share to this node's part of the tokens that the cache last reported as left. The part
   * is rounded up; otherwise no node could use the last tokens of a small bucket. Each report is
   * applied once, because the share itself counts later local decisions.
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
   * Returns the denial of a cost that exceeds a share. The denial has a retry time if the limit
   * itself permits the cost.
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
   * @param check the buckets with slots, and the holder's claim
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
   * Notes how many tokens a decision of the cache has taken. The next outage must not admit the
   * same tokens again. After {@value #FORGET_AFTER_MILLIS} ms without a local decision, discards
   * all buckets except held slots. Held slots also count in the next outage.
   *
   * @param buckets the buckets of the check, in the order of the decision's replies
   * @param costTokens the cost of the check, ≥ 1
   */
  void cacheDecided(
      List<MatchedPolicy> buckets, Decision.Decided decided, long costTokens, long nowEpochMillis) {
    for (int i = 0; i < buckets.size(); i++) {
      BucketRequest bucket = buckets.get(i).bucket();
      BucketReply reply = decided.buckets().get(i);
      if (buckets.get(i).policy().onCacheFailure() == CacheFailureMode.LOCAL
          && !bucket.hasSlots()) {
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
   * Takes the tokens that the cache has admitted also from this node's share of the bucket, if the
   * share exists. Between short outages the share must stay correct, because the cache does not
   * know the local decisions yet.
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

  /** Returns the number of buckets in memory. */
  public int bucketCount() {
    return memory.bucketCount();
  }

  /** Returns the number of buckets that were discarded because there were too many buckets. */
  public long forgottenBuckets() {
    return memory.forgottenBuckets();
  }
}
