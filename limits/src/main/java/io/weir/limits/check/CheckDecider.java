// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketState;
import io.weir.limits.BucketView;
import io.weir.limits.CountedBucket;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.LoggedBucket;
import io.weir.limits.SlotBucket;
import io.weir.limits.SlotClaim;
import io.weir.limits.SlotState;
import io.weir.limits.check.Decision.Cause;
import java.util.ArrayList;
import java.util.List;

/**
 * Decides a check: reads all buckets of the check, and then charges all buckets or none. A shadow
 * bucket never denies a call. An allowed call charges a shadow bucket only if the bucket has enough
 * tokens for the cost. Until the cache is restored, a check with an enforced {@linkplain
 * BucketRequest#held held} bucket is undecided. Stateless and thread-safe.
 */
public final class CheckDecider {
  /** Detail of {@link Cause#COLD}. */
  public static final String COLD_DETAIL =
      "the cache is not restored, and a policy of the call has on_cold_cache: hold";

  private CheckDecider() {}

  /**
   * Returns whether the bucket must not decide until the cache is restored. Returns false for a
   * shadow bucket, because a shadow bucket never denies a call.
   */
  public static boolean isHeldBack(BucketRequest request) {
    return request.held() && request.enforced();
  }

  /**
   * A bucket that the cache must write.
   *
   * @param bucket the bucket's key
   * @param state the state to write
   * @param ttlMillis time to live of the key, in milliseconds
   */
  public record Write(String bucket, BucketState state, long ttlMillis) {}

  /**
   * A bucket whose stored time counts as now. The cache writes only the new time, and does not
   * change the expiry.
   *
   * @param bucket the bucket's key
   * @param state the state to write
   */
  public record Restart(String bucket, BucketState state) {}

  /**
   * A log that the cache must write.
   *
   * @param bucket the bucket's key
   * @param log the log to write
   * @param ttlMillis time to live of the key, in milliseconds
   */
  public record LogWrite(String bucket, LogState log, long ttlMillis) {}

  /**
   * Slots that the cache must write.
   *
   * @param bucket the bucket's key
   * @param slots the slots to write
   * @param ttlMillis time to live of the key, in milliseconds
   * @param restarted true if the clock has stepped back and the cache writes only the ends of the
   *     leases; no slot is taken, renewed or released
   */
  public record SlotWrite(String bucket, SlotState slots, long ttlMillis, boolean restarted) {}

  /**
   * A decision and its writes.
   *
   * @param decision the decision
   * @param writes the charged buckets whose content is a counter; empty for a denial, a peek and an
   *     undecided check
   * @param logs the charged buckets whose content is a log; empty for a denial, a peek and an
   *     undecided check
   * @param slots the buckets with a taken, renewed or released slot, and the buckets whose leases
   *     were {@linkplain SlotWrite#restarted restarted}
   * @param restarts the buckets that were not charged and whose stored time {@linkplain
   *     io.weir.limits.BucketArithmetic#countsAsNow counts as now}; empty for a peek and an
   *     undecided check
   */
  public record Outcome(
      Decision decision,
      List<Write> writes,
      List<LogWrite> logs,
      List<SlotWrite> slots,
      List<Restart> restarts) {
    public Outcome {
      writes = List.copyOf(writes);
      logs = List.copyOf(logs);
      slots = List.copyOf(slots);
      restarts = List.copyOf(restarts);
    }

    /** Creates an outcome that restarts no bucket. */
    public Outcome(
        Decision decision, List<Write> writes, List<LogWrite> logs, List<SlotWrite> slots) {
      this(decision, writes, logs, slots, List.of());
    }

    /** Creates an outcome that writes no slots. */
    public Outcome(Decision decision, List<Write> writes, List<LogWrite> logs) {
      this(decision, writes, logs, List.of());
    }

    /** Returns an outcome that writes nothing. */
    public static Outcome without(Decision decision) {
      return new Outcome(decision, List.of(), List.of());
    }
  }

  /**
   * Decides a check.
   *
   * @param check the check
   * @param peek true if the check must not charge a bucket
   * @param warm false while the cache has lost its state and is not restored yet
   * @param nowEpochMicros time by the cache's clock
   * @param kept the stored buckets of the cache
   */
  public static Outcome decide(
      Check check, boolean peek, boolean warm, long nowEpochMicros, KeptBuckets kept) {
    if (!warm && check.buckets().stream().anyMatch(CheckDecider::isHeldBack)) {
      return Outcome.without(new Decision.Undecided(Cause.COLD, COLD_DETAIL));
    }
    List<BucketRequest> requests = check.buckets();
    List<BucketView> views = views(check, kept, nowEpochMicros);
    int deciding = decidingBucket(requests, views, check.cost());
    boolean charging = deciding < 0 && !peek;
    List<BucketReply> replies = new ArrayList<>(views.size());
    Writes writes = new Writes();
    for (int i = 0; i < views.size(); i++) {
      BucketView view = views.get(i);
      boolean sufficient = view.holds(check.cost());
      boolean charged = charging && sufficient;
      BucketView after = charged ? view.charged(check.cost()) : view;
      boolean isRenewal = view instanceof SlotBucket slots && slots.isHeld();
      long retryAfterMicros = view.retryAfterMicros(check.cost());
      replies.add(reply(after, sufficient, retryAfterMicros, charged && !isRenewal));
      if (charged) {
        writes.add(requests.get(i).bucket(), after);
      } else if (!peek) {
        writes.restart(requests.get(i).bucket(), view, kept);
      }
    }
    Decision.Decided decision =
        deciding < 0
            ? new Decision.Allowed(nowEpochMicros, replies)
            : new Decision.Denied(
                nowEpochMicros, replies, deciding, !views.get(deciding).canHold(check.cost()));
    return writes.after(decision);
  }

  /**
   * Releases the slots of a holder in the buckets of a check. {@link BucketReply#charged} is true
   * if the holder had a slot in the bucket.
   *
   * @param check buckets with slots
   * @param nowEpochMicros time by the cache's clock
   * @param kept the stored buckets of the cache
   * @throws IllegalArgumentException if a bucket has no slots
   */
  public static Outcome release(Check check, long nowEpochMicros, KeptBuckets kept) {
    List<BucketReply> replies = new ArrayList<>();
    Writes writes = new Writes();
    List<BucketView> views = views(check, kept, nowEpochMicros);
    for (int i = 0; i < views.size(); i++) {
      if (!(views.get(i) instanceof SlotBucket slots)) {
        throw new IllegalArgumentException(
            "the bucket must have slots, but is " + check.buckets().get(i));
      }
      boolean isHeld = slots.isHeld();
      SlotBucket after = isHeld ? slots.released() : slots;
      replies.add(reply(after, true, 0, isHeld));
      if (isHeld) {
        writes.add(check.buckets().get(i).bucket(), after);
      }
    }
    return writes.after(new Decision.Allowed(nowEpochMicros, replies));
  }

  private static List<BucketView> views(Check check, KeptBuckets kept, long nowEpochMicros) {
    List<BucketView> views = new ArrayList<>(check.buckets().size());
    for (BucketRequest request : check.buckets()) {
      BucketView view = request.limit().view(request.bucket(), kept, nowEpochMicros);
      SlotClaim claim = check.claim();
      views.add(view instanceof SlotBucket slots && claim != null ? slots.of(claim) : view);
    }
    return views;
  }

  private static BucketReply reply(
      BucketView after, boolean sufficient, long retryAfterMicros, boolean charged) {
    return new BucketReply(
        sufficient,
        after.remainingTokens(),
        after.resetMicros(),
        retryAfterMicros,
        after.epoch(),
        after.version(),
        after.chargedTokens(),
        charged);
  }

  /** The states that a decision writes. */
  private static final class Writes {
    private final List<Write> counted = new ArrayList<>();
    private final List<LogWrite> logs = new ArrayList<>();
    private final List<SlotWrite> slots = new ArrayList<>();
    private final List<Restart> restarts = new ArrayList<>();

    void restart(String bucket, BucketView view, KeptBuckets kept) {
      if (view instanceof CountedBucket counted) {
        BucketState state = kept.state(bucket);
        long now = counted.nowEpochMicros();
        if (state != null && counted.arithmetic().countsAsNow(state, now)) {
          restarts.add(new Restart(bucket, state.withLast(now)));
        }
      } else if (view instanceof SlotBucket leased) {
        SlotBucket restarted = leased.restarted(kept.slots(bucket));
        if (restarted != null) {
          slots.add(new SlotWrite(bucket, restarted.slots(), restarted.ttlMillis(), true));
        }
      }
    }

    void add(String bucket, BucketView after) {
      if (after instanceof CountedBucket bucketAfter) {
        counted.add(new Write(bucket, bucketAfter.state(), after.ttlMillis()));
      } else if (after instanceof LoggedBucket logged) {
        logs.add(new LogWrite(bucket, logged.log(), after.ttlMillis()));
      } else if (after instanceof SlotBucket leased) {
        slots.add(new SlotWrite(bucket, leased.slots(), after.ttlMillis(), false));
      }
    }

    Outcome after(Decision decision) {
      return new Outcome(decision, counted, logs, slots, restarts);
    }
  }

  /** Returns the index of the enforced bucket that denies the call; −1 if no bucket denies it. */
  private static int decidingBucket(
      List<BucketRequest> requests, List<BucketView> views, long costTokens) {
    int deciding = -1;
    long longestMicros = 0;
    for (int i = 0; i < views.size(); i++) {
      if (!requests.get(i).enforced()) {
        continue;
      }
      BucketView view = views.get(i);
      if (!view.canHold(costTokens)) {
        return i;
      }
      long waitMicros = view.retryAfterMicros(costTokens);
      if (waitMicros > longestMicros) {
        deciding = i;
        longestMicros = waitMicros;
      }
    }
    return deciding;
  }
}
