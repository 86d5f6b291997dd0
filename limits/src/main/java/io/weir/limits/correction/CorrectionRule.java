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
 * one applied; the bucket is then as the records state, less what the cache has charged since. A
 * bucket that is gone, or whose counter is behind that of the correction, begins a new epoch with
 * it: in the previous epoch, future charges would be hidden behind the greater counter. So does a
 * bucket that is corrected by the greatest version, which nothing could replace in its epoch. A
 * token bucket gains nothing by that from a correction that knows of no charge of the cache.
 * Stateless and thread-safe.
 *
 * <p>Example: capacity 10, one token a second, "when 7 were charged the bucket should have been
 * full in 4 s": 6 tokens. If the cache has charged 9 by now: 4 tokens. If the bucket should have
 * been full 1 s ago, and the cache has charged 11 by now, it lacks 3 tokens if the 4 since were
 * charged a second ago, and 4 if they were charged just now: a level between the two is kept, any
 * other is moved to the nearer bound. A late correction therefore does not take what was refilled
 * meanwhile.
 */
public final class CorrectionRule {
  /**
   * Greatest number used of a correction; only a wrong correction exceeds it, and is clamped to it.
   */
  private static final long MAX_NUMBER = TokenBucketLimit.EXACT_BELOW - 1;

  /**
   * Greatest epoch used of a correction, in the year 2112; leaves room for the epochs that follow.
   */
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
   * Returns the one number by which a correction states how full the bucket should be: the time at
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
    // charges since then may have been refilled under the limit that the correction was carried
    // over to
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
    // a bucket that is already deeper in debt, because its limit was lowered, gains nothing
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
   * Returns whether a correction contains nothing new: it or a newer one was applied, or it refers
   * to an epoch before one that a charge began, which is repaired by corrections of its own. A
   * quota applies the latter all the same: what was used before is used in every epoch, and a
   * correction of the new epoch requires a record with its stamp, which does not arrive while the
   * cache decides nothing (simulation, seed 20435).
   */
  private static boolean isStale(BucketState kept, long epoch, long version, BucketLimit limit) {
    return epoch < kept.correctedEpoch()
        || (epoch == kept.correctedEpoch() && version <= kept.version())
        || (epoch < kept.epoch() && kept.correctedEpoch() == 0 && limit.refills());
  }

  /**
   * Returns the tokens that the bucket has charged and the correction does not include; negative if
   * the bucket's counter does not include everything that the correction does.
   */
  private static long chargedSince(BucketState kept, long epoch, long chargedTokens) {
    if (kept.epoch() > epoch) {
      return kept.chargedTokens();
    }
    return kept.epoch() == epoch ? kept.chargedTokens() - chargedTokens : -1;
  }

  /**
   * Returns whether the correction includes no charge of the cache. In that case, what looks like a
   * cache that went back, or like an epoch that an earlier correction began, may be an epoch whose
   * stamps are still in flight (simulation, seed 48071). A token bucket then gains nothing; a quota
   * cannot refill what it would lack if it had gone back after all.
   */
  private static boolean mayMissStamps(Correction correction) {
    return correction.chargedTokens() == 0 && correction.limit().refills();
  }

  /** Returns the time by the cache's clock through which a correction knows the bucket. */
  public static long knownThrough(Correction correction) {
    return bounded(correction.knownThroughEpochMicros());
  }

  /**
   * Returns the truth by the cache's clock of now. If the clock has stepped back by more than the
   * bucket takes to fill since the newest charge that the correction includes, that charge counts
   * as made now.
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
