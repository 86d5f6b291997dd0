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
 * The effect of a correction on a bucket: the reference that every corrector follows (decision
 * record 0005). A correction is applied if its (epoch, version) is greater than that of the last
 * applied correction. The bucket then has the content that the records state, less the charges of
 * the cache since. Stateless and thread-safe.
 *
 * <p>A bucket begins a new epoch with the correction if it is missing, or if its counter is behind
 * that of the correction. In the previous epoch, the greater counter would hide future charges. A
 * bucket that is corrected by the greatest version also begins a new epoch, since no correction
 * could replace that version. A token bucket gains nothing by a new epoch if the correction
 * includes no charge of the cache.
 *
 * <p>Example: capacity 10, one token a second. A correction states that the bucket should have been
 * full in 4 s when 7 tokens were charged. The bucket then holds 6 tokens. If the cache has charged
 * 9 tokens by now, it holds 4.
 *
 * <p>Another example: the bucket should have been full 1 s ago, and the cache has charged 11 tokens
 * by now. It lacks 3 tokens if the last 4 were charged a second ago, and 4 if they were charged
 * just now. A level between the two bounds is kept; any other level is moved to the nearer bound. A
 * late correction therefore does not take tokens that were refilled meanwhile.
 */
public final class CorrectionRule {
  /**
   * Greatest number in a correction. Only a wrong correction exceeds it; its numbers are clamped.
   */
  private static final long MAX_NUMBER = TokenBucketLimit.EXACT_BELOW - 1;

  /** Greatest epoch in a correction, in the year 2112; leaves room for later epochs. */
  private static final long MAX_EPOCH = 1L << 52;

  private CorrectionRule() {}

  /**
   * The result of a correction.
   *
   * @param outcome the outcome
   * @param state the state to keep; null if nothing is to be written
   * @param ttlMillis how long to keep it; 0 if nothing is to be written
   */
  public record Result(CorrectionOutcome outcome, @Nullable BucketState state, long ttlMillis) {
    static Result unchanged(Kind kind) {
      return new Result(new CorrectionOutcome(kind, 0, false), null, 0);
    }
  }

  /**
   * Returns a correction's number clamped to the range of the arithmetic: below 2^53, above −2^53.
   */
  public static long bounded(long number) {
    return Math.max(-MAX_NUMBER, Math.min(number, MAX_NUMBER));
  }

  /** Returns the epoch to which a correction refers, clamped to the range of the arithmetic. */
  public static long epoch(Correction correction) {
    return Math.min(correction.epoch(), MAX_EPOCH);
  }

  /**
   * Returns the number by which a correction states how full the bucket should be: the time at
   * which it is full, or for a quota the tokens used.
   */
  public static long truth(Correction correction) {
    return bounded(
        correction.limit().truth(correction.fullAtEpochMicros(), correction.totalTokens()));
  }

  /**
   * Applies a correction.
   *
   * @param bounded the correction and its bound
   * @param kept the stored state of its bucket, or null if there is none
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
    // later charges may have been refilled under the limit to which the correction was carried over
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
    // a bucket with a greater debt, because its limit was lowered, gains nothing
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
   * Returns whether a correction contains nothing new. That is so if it or a newer correction was
   * applied, or if it refers to an epoch before one that a charge began. The newer epoch is
   * repaired by its own corrections. A quota still applies a correction of an earlier epoch: tokens
   * used earlier are used in every epoch. A correction of the new epoch requires a record with its
   * stamp, which does not arrive while the cache decides nothing (simulation, seed 20435).
   */
  private static boolean isStale(BucketState kept, long epoch, long version, BucketLimit limit) {
    return epoch < kept.correctedEpoch()
        || (epoch == kept.correctedEpoch() && version <= kept.version())
        || (epoch < kept.epoch() && kept.correctedEpoch() == 0 && limit.refills());
  }

  /**
   * Returns the tokens that the bucket has charged and the correction does not include; negative if
   * the bucket's counter is behind the correction.
   */
  private static long chargedSince(BucketState kept, long epoch, long chargedTokens) {
    if (kept.epoch() > epoch) {
      return kept.chargedTokens();
    }
    return kept.epoch() == epoch ? kept.chargedTokens() - chargedTokens : -1;
  }

  /**
   * Returns whether the correction includes no charge of the cache. In that case the stamps of the
   * current epoch may still be in flight (simulation, seed 48071). The cache then only seems to
   * have reverted, or to be in an epoch that an earlier correction began. A token bucket then gains
   * nothing. A quota is exempt, since it cannot refill the tokens that it would lack if the cache
   * had indeed reverted.
   */
  private static boolean mayMissStamps(Correction correction) {
    return correction.chargedTokens() == 0 && correction.limit().refills();
  }

  /**
   * Returns the time by the cache's clock through which a correction includes the bucket's charges.
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
   * Returns the most units that a bucket may lack after a correction: its capacity and the policy's
   * debt cap.
   */
  private static long mostMissingUnits(BucketArithmetic arithmetic, BoundedCorrection bounded) {
    return Math.min(
        TokenBucketLimit.EXACT_BELOW - 1,
        arithmetic.capacityUnits()
            + Numbers.boundedProduct(bounded(bounded.debtCapTokens()), arithmetic.unitsPerToken()));
  }
}
