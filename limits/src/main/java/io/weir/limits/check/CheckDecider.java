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
 * Decides a check over several buckets: all are looked at, then all are charged or none. A shadow
 * bucket never refuses; it is charged when the call is allowed and it holds the cost. While the
 * cache is cold, a check with a held bucket that is enforced is not decided.
 */
public final class CheckDecider {
  /** Detail of {@link Cause#COLD}. */
  public static final String COLD_DETAIL =
      "the cache has lost its state, and a bucket of the check waits for its restoration";

  private CheckDecider() {}

  /** Whether a cold cache must not decide for this bucket. A shadow bucket never refuses. */
  public static boolean isHeldBack(BucketRequest request) {
    return request.held() && request.enforced();
  }

  /**
   * A bucket to be written.
   *
   * @param bucket its key
   * @param state what to keep
   * @param ttlMillis for how long
   */
  public record Write(String bucket, BucketState state, long ttlMillis) {}

  /**
   * A decision and what follows from it.
   *
   * @param decision the answer
   * @param writes the buckets charged; empty for a deny, a peek and a check that is not decided
   */
  public record Outcome(Decision decision, List<Write> writes) {
    public Outcome {
      writes = List.copyOf(writes);
    }
  }

  /** A bucket as it is looked at. */
  private record View(BucketRequest request, BucketArithmetic arithmetic, BucketState state) {}

  /**
   * Decides.
   *
   * @param check what is asked
   * @param peek true to charge nothing
   * @param warm false when the cache has lost its state and is not restored yet
   * @param nowEpochMicros the cache's clock
   * @param kept gives the state kept under a key, null when there is none
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
      BucketArithmetic arithmetic = request.limit().arithmetic();
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

  /** Index of the enforced bucket that refuses, −1 when none does. */
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
