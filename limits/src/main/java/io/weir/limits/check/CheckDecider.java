// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketState;
import io.weir.limits.check.Decision.Cause;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides a check over several buckets: all of them are read, then all or none are charged. A
 * shadow bucket never refuses a call; it is charged if the call is allowed and the bucket holds the
 * cost. While the cache is cold, a check with a held bucket that is enforced is undecided.
 * Stateless and thread-safe.
 */
public final class CheckDecider {
  /** Detail of {@link Cause#COLD}. */
  public static final String COLD_DETAIL =
      "the cache has lost its state, and a bucket of the check waits for its restoration";

  private CheckDecider() {}

  /**
   * Returns whether a cold cache must not decide for this bucket. A shadow bucket never refuses a
   * call, so it is never held back.
   */
  public static boolean isHeldBack(BucketRequest request) {
    return request.held() && request.enforced();
  }

  /**
   * A bucket to be written.
   *
   * @param bucket the bucket's key
   * @param state the state to keep
   * @param ttlMillis how long to keep it
   */
  public record Write(String bucket, BucketState state, long ttlMillis) {}

  /**
   * A decision and the writes that follow from it.
   *
   * @param decision the decision
   * @param writes the charged buckets; empty for a denial, a peek and an undecided check
   */
  public record Outcome(Decision decision, List<Write> writes) {
    public Outcome {
      writes = List.copyOf(writes);
    }
  }

  /** A bucket, refilled up to the time of the decision. */
  private record View(BucketRequest request, BucketArithmetic arithmetic, BucketState state) {}

  /**
   * Decides a check.
   *
   * @param check the check
   * @param peek true to charge nothing
   * @param warm false while the cache has lost its state and is not restored yet
   * @param nowEpochMicros time by the cache's clock
   * @param kept returns the state stored under a key, or null if there is none
   */
  public static Outcome decide(
      Check check,
      boolean peek,
      boolean warm,
      long nowEpochMicros,
      Function<String, @Nullable BucketState> kept) {
    if (!warm && check.buckets().stream().anyMatch(CheckDecider::isHeldBack)) {
      return new Outcome(new Decision.Undecided(Cause.COLD, COLD_DETAIL), List.of());
    }
    List<View> views = new ArrayList<>(check.buckets().size());
    for (BucketRequest request : check.buckets()) {
      BucketArithmetic arithmetic =
          request.limit().deciding(request.bucket(), kept, nowEpochMicros);
      views.add(
          new View(
              request,
              arithmetic,
              arithmetic.refill(kept.apply(request.bucket()), nowEpochMicros)));
    }
    int deciding = decidingBucket(views, check.cost(), nowEpochMicros);
    boolean charging = deciding < 0 && !peek;
    List<BucketReply> replies = new ArrayList<>(views.size());
    List<Write> writes = new ArrayList<>();
    for (View view : views) {
      boolean sufficient = view.arithmetic.holds(view.state, check.cost());
      boolean charged = charging && sufficient;
      BucketState after =
          charged ? view.arithmetic.charge(view.state, check.cost(), nowEpochMicros) : view.state;
      replies.add(
          new BucketReply(
              sufficient,
              view.arithmetic.remainingTokens(after),
              view.arithmetic.resetMicros(after, nowEpochMicros),
              view.arithmetic.retryAfterMicros(view.state, check.cost(), nowEpochMicros),
              after.epoch(),
              after.versionOfThisEpoch(),
              after.chargedTokens(),
              charged));
      if (charged) {
        long ttlMillis = view.arithmetic.ttlMillis(after, nowEpochMicros);
        writes.add(new Write(view.request.bucket(), after, ttlMillis));
      }
    }
    Decision.Decided decision =
        deciding < 0
            ? new Decision.Allowed(nowEpochMicros, replies)
            : new Decision.Denied(
                nowEpochMicros,
                replies,
                deciding,
                !views.get(deciding).arithmetic.canHold(check.cost()));
    return new Outcome(decision, writes);
  }

  /** Returns the index of the enforced bucket that refuses the call, or −1 if none does. */
  private static int decidingBucket(List<View> views, long costTokens, long nowEpochMicros) {
    int deciding = -1;
    long longestMicros = 0;
    for (int i = 0; i < views.size(); i++) {
      View view = views.get(i);
      if (!view.request.enforced()) {
        continue;
      }
      if (!view.arithmetic.canHold(costTokens)) {
        return i;
      }
      long waitMicros = view.arithmetic.retryAfterMicros(view.state, costTokens, nowEpochMicros);
      if (waitMicros > longestMicros) {
        deciding = i;
        longestMicros = waitMicros;
      }
    }
    return deciding;
  }
}
