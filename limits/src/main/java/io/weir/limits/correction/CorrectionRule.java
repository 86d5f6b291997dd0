// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.correction;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.Numbers;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The rule for applying a correction to a bucket (decision record 0005). Every implementation of
 * the cache must compute the same result. A correction is applied if its (epoch, version) is
 * greater than the (epoch, version) of the last applied correction. The bucket then has the content
 * that the correction states, minus the later charges of the cache. Stateless and thread-safe.
 *
 * <p>The correction begins a new epoch if the bucket is missing, or if the bucket's counter is less
 * than the counter in the correction. Without a new epoch, a reader would mistake later charges for
 * charges that the correction includes. A correction with the maximum version also begins a new
 * epoch, because no correction could replace that version. If the correction includes no charge of
 * the cache, a new epoch does not add tokens to a token bucket.
 *
 * <p>Example: a bucket has capacity 10 and gains one token per second. A correction includes 7
 * charged tokens, and states that the bucket should be full 4 s from now. The bucket then holds 6
 * tokens. If the cache has charged 9 tokens by now, the bucket holds 4 tokens.
 *
 * <p>Another example: the bucket should have been full 1 s ago, and the cache has charged 11 tokens
 * by now. The bucket lacks 3 tokens if the cache charged the last 4 tokens a second ago. The bucket
 * lacks 4 tokens if the cache charged the last 4 tokens just now. If the bucket lacks between 3 and
 * 4 tokens, the correction does not change the bucket. If the bucket lacks fewer than 3 tokens, it
 * lacks 3 after the correction; if more than 4, it lacks 4. A late correction therefore does not
 * take tokens that the bucket has gained meanwhile.
 */
public final class CorrectionRule {
  /**
   * Maximum of a number in a correction. Only a wrong correction has a greater number, and the rule
   * reduces such a number to the maximum.
   */
  private static final long MAX_NUMBER = TokenBucketLimit.EXACT_BELOW - 1;

  /**
   * Maximum epoch in a correction, in the year 2112. The maximum is below 2^53, so that greater
   * epochs can follow.
   */
  private static final long MAX_EPOCH = 1L << 52;

  private CorrectionRule() {}

  /**
   * The result of a correction.
   *
   * @param outcome the outcome
   * @param state the state that the cache must write; null if it must not write
   * @param ttlMillis how long the cache must keep the state; 0 if it must not write
   */
  public record Result(CorrectionOutcome outcome, @Nullable BucketState state, long ttlMillis) {
    static Result unchanged(Kind kind) {
      return new Result(new CorrectionOutcome(kind, 0, false), null, 0);
    }
  }

  /**
   * Returns a number of a correction, limited to the range of the arithmetic: above −2^53 and below
   * 2^53.
   */
  public static long bounded(long number) {
    return Math.max(-MAX_NUMBER, Math.min(number, MAX_NUMBER));
  }

  /** Returns the epoch to which a correction refers, limited to the range of the arithmetic. */
  public static long epoch(Correction correction) {
    return Math.min(correction.epoch(), MAX_EPOCH);
  }

  /**
   * Returns the number that determines how full the bucket should be. For a token bucket, the
   * result is the time at which the bucket is full; for a quota, the number of tokens used.
   */
  public static long truth(Correction correction) {
    return bounded(
        correction.limit().truth(correction.fullAtEpochMicros(), correction.totalTokens()));
  }

  /**
   * Applies a correction.
   *
   * @param bounded the correction and its bound
   * @param kept the stored state of the bucket; null if there is no state
   * @param nowEpochMicros time by the cache's clock
   */
  public static Result apply(
      BoundedCorrection bounded, @Nullable BucketState kept, long nowEpochMicros) {
    Correction correction = bounded.correction();
    BucketArithmetic arithmetic = correction.limit().arithmetic();
    BucketState before = arithmetic.refill(kept, nowEpochMicros);
    long epoch = epoch(correction);
    long version = bounded(correction.version());
    if (isStale(before, epoch, version, correction.limit())) {
      return Result.unchanged(Kind.STALE);
    }
    boolean gone = before.epoch() == 0;
    long truth = truthAt(correction, nowEpochMicros);
    if (gone && isFullBy(nowEpochMicros, correction, truth)) {
      return Result.unchanged(Kind.FULL);
    }
    long sinceTokens = chargedSince(before, epoch, bounded(correction.chargedTokens()));
    boolean isBehind = sinceTokens < 0;
    long chargedUnits =
        Numbers.boundedProduct(Math.max(0, sinceTokens), arithmetic.unitsPerToken());
    long lackingUnits = arithmetic.missingUnits(truth, nowEpochMicros);
    long highUnits = Math.max(0, lackingUnits + chargedUnits);
    // with takesOnly, the bucket may have gained the tokens of later charges under its limit
    long lowUnits =
        bounded.takesOnly()
            ? lackingUnits
            : Math.max(0, highUnits - arithmetic.refilledUnits(truth, nowEpochMicros));
    boolean isOfThisLife = !isBehind && before.epoch() == epoch;
    if (bounded.takesOnly() || (!isOfThisLife && mayMissStamps(correction))) {
      highUnits = TokenBucketLimit.EXACT_BELOW;
    }
    long ownUnits = arithmetic.capacityUnits() - arithmetic.levelUnits(before);
    long missingUnits = Math.max(lowUnits, Math.min(ownUnits, highUnits));
    // if a lowered limit has caused a debt above the cap, the correction adds no tokens
    long mostUnits = Math.max(mostMissingUnits(arithmetic, bounded), ownUnits);
    long levelUnits = arithmetic.capacityUnits() - Math.min(missingUnits, mostUnits);
    long changeUnits = levelUnits - arithmetic.levelUnits(before);
    boolean beginsEpoch = isBehind || version == MAX_NUMBER;
    long nextEpoch = bounded(Math.max(nowEpochMicros, Math.max(before.epoch(), epoch) + 1));
    BucketState current = beginsEpoch ? before.begun(nextEpoch) : before;
    BucketState corrected = current.corrected(epoch, version);
    BucketState after =
        changeUnits != 0 || lowUnits == highUnits
            ? arithmetic.atLevel(corrected, levelUnits, nowEpochMicros)
            : corrected;
    long changeTokens = changeUnits / arithmetic.unitsPerToken();
    return new Result(
        new CorrectionOutcome(
            gone ? Kind.CREATED : Kind.APPLIED, changeTokens, missingUnits > mostUnits),
        after,
        arithmetic.ttlMillis(after, nowEpochMicros));
  }

  /**
   * Returns whether a correction is stale. A correction is stale if the cache has already applied
   * this correction or a newer correction. A correction is also stale if a charge has begun a newer
   * epoch, because corrections of the newer epoch follow. A quota still applies a correction of an
   * earlier epoch, because tokens that were used once stay used in every epoch. While the cache
   * decides no calls, no record has a stamp of the newer epoch, so no correction of the newer epoch
   * follows (simulation, seed 20435).
   */
  private static boolean isStale(BucketState kept, long epoch, long version, BucketLimit limit) {
    return epoch < kept.correctedEpoch()
        || (epoch == kept.correctedEpoch() && version <= kept.version())
        || (epoch < kept.epoch() && kept.correctedEpoch() == 0 && limit.refills());
  }

  /**
   * Returns the number of charged tokens that the correction does not include; negative if the
   * bucket's counter is less than the counter in the correction.
   */
  private static long chargedSince(BucketState kept, long epoch, long chargedTokens) {
    if (kept.epoch() > epoch) {
      return kept.chargedTokens();
    }
    return kept.epoch() == epoch ? kept.chargedTokens() - chargedTokens : -1;
  }

  /**
   * Returns whether the correction of a token bucket includes no charge of the cache. Stamps of the
   * current epoch may still be on the way (simulation, seed 48071). The counter then suggests that
   * the cache has reverted, even if the cache has not reverted. The correction must therefore not
   * add tokens. The method returns false for a quota: if the cache has reverted and the correction
   * adds no tokens, a quota lacks these tokens for the whole period.
   */
  private static boolean mayMissStamps(Correction correction) {
    return correction.chargedTokens() == 0 && correction.limit().refills();
  }

  /**
   * Returns the time up to which a correction includes the bucket's charges, by the cache's clock.
   */
  public static long knownThrough(Correction correction) {
    return bounded(correction.knownThroughEpochMicros());
  }

  /**
   * Returns {@link #truth}, adjusted to the cache's current clock. If the clock is behind the
   * newest included charge by more than the bucket's fill time, the clock has stepped back. The
   * charge then counts as made now.
   */
  private static long truthAt(Correction correction, long nowEpochMicros) {
    long truth = truth(correction);
    long aheadMicros = knownThrough(correction) - nowEpochMicros;
    boolean countsAsNow =
        correction.limit().refills() && aheadMicros > correction.limit().arithmetic().fillMicros();
    return countsAsNow ? Math.max(0, truth - aheadMicros) : truth;
  }

  private static boolean isFullBy(long epochMicros, Correction correction, long truth) {
    return correction.limit().refills()
        ? truth <= epochMicros
        : correction.limit().isOverAt(epochMicros);
  }

  /**
   * Returns the maximum number of units that a bucket may lack after a correction: the capacity
   * plus the debt cap.
   */
  private static long mostMissingUnits(BucketArithmetic arithmetic, BoundedCorrection bounded) {
    return Math.min(
        TokenBucketLimit.EXACT_BELOW - 1,
        arithmetic.capacityUnits()
            + Numbers.boundedProduct(bounded(bounded.debtCapTokens()), arithmetic.unitsPerToken()));
  }
}
