// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.BucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/**
 * Decides on this node alone, by its share of each limit, while the decision cache cannot. Safe for
 * threads.
 *
 * <p>The buckets are in memory and begin full each time an outage begins and when the node starts.
 * They are forgotten when nothing was decided here for {@value #FORGET_AFTER_MILLIS} ms. So an
 * outage admits, on each node and for each bucket, at most the share of the capacity and what it
 * refills; a quota its share. Of more than {@value #MAX_BUCKETS} buckets some are forgotten sooner
 * and begin full again, those of clients with most of them first.
 *
 * <p>A cost above the share, though not above the limit, is refused until the cache is back: the
 * bound goes before the large call.
 */
public final class LocalDecider {
  /** Most nodes that may share the traffic. */
  public static final int MAX_NODES = 1_000;

  /** Bound on memory: some 400 bytes each. */
  static final int MAX_BUCKETS = 100_000;

  /**
   * How long after the last decision here the buckets are kept, so that a cache that comes and goes
   * does not fill them each time.
   */
  static final long FORGET_AFTER_MILLIS = 60_000;

  /** After how long a cost above the share may try again; the cache may be back by then. */
  static final long RETRY_AFTER_MICROS = 1_000_000;

  /** Shares that are remembered; quotas make a new one each period. */
  private static final int MAX_SHARES = 4_096;

  private final int nodes;
  private final Map<BucketLimit, BucketLimit> shares = new ConcurrentHashMap<>();
  private final MemoryDecisionCache memory;
  private volatile boolean used;
  private volatile long lastUsedEpochMillis;

  /**
   * Makes a decider without buckets.
   *
   * @param nodes how many nodes share the traffic, 1 to {@value #MAX_NODES}
   * @param clockEpochMicros the decision cache's clock as this node knows it, ≥ 1
   */
  public LocalDecider(int nodes, LongSupplier clockEpochMicros) {
    if (nodes < 1 || nodes > MAX_NODES) {
      throw new IllegalArgumentException("nodes must be 1 to " + MAX_NODES + ", is " + nodes);
    }
    this.nodes = nodes;
    memory = new MemoryDecisionCache(clockEpochMicros, MAX_BUCKETS);
  }

  /**
   * Takes the cost from the share of each bucket, or from none.
   *
   * @param buckets what the cache was asked; their order is the order of the replies
   * @param peek true to take nothing
   * @param nowEpochMillis when, by the cache's clock
   */
  Decision.Decided decide(
      List<BucketRequest> buckets, long costTokens, boolean peek, long nowEpochMillis) {
    List<BucketRequest> asked = new ArrayList<>(buckets.size());
    for (BucketRequest bucket : buckets) {
      asked.add(new BucketRequest(bucket.bucket(), share(bucket.limit()), true));
    }
    lastUsedEpochMillis = nowEpochMillis;
    used = true;
    Check check = new Check(asked, costTokens);
    Decision decision = peek ? memory.peek(check) : memory.take(check);
    if (decision instanceof Decision.Denied denied && denied.costExceedsCapacity()) {
      return aboveAShare(buckets, costTokens, denied);
    }
    if (decision instanceof Decision.Decided decided) {
      return decided;
    }
    throw new IllegalStateException("a cache in memory must decide, but said " + decision);
  }

  /** A cost above the share is a matter of waiting, unless it is above the limit itself. */
  private static Decision.Denied aboveAShare(
      List<BucketRequest> buckets, long costTokens, Decision.Denied denied) {
    int deciding = denied.decidingBucket();
    boolean never = false;
    List<BucketReply> replies = new ArrayList<>(buckets.size());
    for (int i = 0; i < buckets.size(); i++) {
      BucketReply reply = denied.buckets().get(i);
      if (buckets.get(i).limit().capacityTokens() < costTokens) {
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

  /** This node's part of a limit. */
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

  /** Takes note that the cache decides; forgets the buckets when it has done so for a while. */
  void cacheDecided(long nowEpochMillis) {
    if (used && nowEpochMillis - lastUsedEpochMillis >= FORGET_AFTER_MILLIS) {
      used = false;
      memory.clear();
    }
  }

  /** Buckets kept; 0 when they are forgotten. */
  public int bucketCount() {
    return memory.bucketCount();
  }

  /** Buckets that began full again for want of room. */
  public long forgottenBuckets() {
    return memory.forgottenBuckets();
  }
}
