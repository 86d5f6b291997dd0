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
 * What a correction does to a bucket: the reference that every corrector answers to (decision
 * record 0005). It is applied when its (epoch, version) is greater than that of the last one
 * applied; then the bucket is as the records say, less what the cache has charged since. A bucket
 * that is gone, or whose counter has gone back behind what the correction knows of, begins a new
 * life with it: in the life before, charges to come would hide behind the greater counter. A token
 * bucket gains nothing by that from a correction that knows of no charge of the cache.
 *
 * <p>Example: capacity 10, one token a second, "when 7 were charged the bucket should have been
 * full in 4 s": 6 tokens. The cache has charged 9 by now: 4 tokens. When the bucket should have
 * been full 1 s ago, and the cache has charged 11 by now, it lacks 3 tokens if the 4 since were
 * charged a second ago, and 4 if just now: a level between the two stays, another is moved to the
 * nearer. So a correction that comes late takes nothing that was refilled meanwhile.
 */
public final class CorrectionRule {
  /** Numbers of a correction above this are taken as this; none is unless it is wrong. */
  private static final long MAX_NUMBER = TokenBucketLimit.EXACT_BELOW - 1;

  /** The year 2112: an epoch leaves room for those that follow. */
  private static final long MAX_EPOCH = 1L << 52;

  private CorrectionRule() {}

  /**
   * What follows from a correction.
   *
   * @param outcome the answer
   * @param state what to keep; null when nothing is to be written
   * @param ttlMillis for how long; 0 when nothing is to be written
   */
  public record Result(CorrectionOutcome outcome, @Nullable BucketState state, long ttlMillis) {
    static Result unchanged(Kind kind) {
      return new Result(new CorrectionOutcome(kind, 0, false), null, 0);
    }
  }

  /** A correction's number as the arithmetic takes it: below 2^53, above −2^53. */
  public static long bounded(long number) {
    return Math.max(-MAX_NUMBER, Math.min(number, MAX_NUMBER));
  }

  /** The epoch that a correction speaks of, as the arithmetic takes it. */
  public static long epoch(Correction correction) {
    return Math.min(correction.epoch(), MAX_EPOCH);
  }

  /**
   * The one number in which a correction states how full the bucket should be: the time when it is
   * full, for a quota the tokens used.
   */
  public static long truth(Correction correction) {
    return bounded(
        correction.limit().truth(correction.fullAtEpochMicros(), correction.totalTokens()));
  }

  /**
   * Applies a correction.
   *
   * @param kept the state kept under its bucket, null when there is none
   * @param nowEpochMicros the cache's clock
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
    if (gone && isFullBy(nowEpochMicros, correction)) {
      return Result.unchanged(Kind.FULL);
    }
    long truth = truth(correction);
    long sinceTokens = chargedSince(before, epoch, bounded(correction.chargedTokens()));
    boolean isBehind = sinceTokens < 0;
    long chargedUnits =
        Numbers.boundedProduct(Math.max(0, sinceTokens), arithmetic.unitsPerToken());
    long lackingUnits = arithmetic.missingUnits(truth, nowEpochMicros);
    long highUnits = Math.max(0, lackingUnits + chargedUnits);
    // what was charged since may have been refilled under the limit that it is carried over to
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
    // a bucket that is deeper in debt already, by a limit that was lowered, is given nothing
    long mostUnits = Math.max(mostMissingUnits(arithmetic, bounded), ownUnits);
    long levelUnits = arithmetic.capacityUnits() - Math.min(missingUnits, mostUnits);
    long changeUnits = levelUnits - arithmetic.levelUnits(before);
    BucketState life = isBehind ? before.begun(Math.max(nowEpochMicros, epoch + 1)) : before;
    BucketState corrected = life.corrected(epoch, version);
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
   * Whether a correction tells nothing new: this one or a newer one was applied, or it speaks of a
   * life before one that a charge began, which heals by its own corrections. A quota takes it all
   * the same: what was used before is used in every life, and its own correction waits for a record
   * with its stamp, which does not come while the cache decides nothing (simulation, seed 20435).
   */
  private static boolean isStale(BucketState kept, long epoch, long version, BucketLimit limit) {
    return epoch < kept.correctedEpoch()
        || (epoch == kept.correctedEpoch() && version <= kept.version())
        || (epoch < kept.epoch() && kept.correctedEpoch() == 0 && limit.refills());
  }

  /**
   * What the bucket has charged that a correction does not know of; negative when the bucket does
   * not know of all that the correction does.
   */
  private static long chargedSince(BucketState kept, long epoch, long chargedTokens) {
    if (kept.epoch() > epoch) {
      return kept.chargedTokens();
    }
    return kept.epoch() == epoch ? kept.chargedTokens() - chargedTokens : -1;
  }

  /**
   * Whether no charge that the cache made is known, so that what looks like a cache gone back, or
   * like a life that an earlier correction began, may be one whose stamps are on their way
   * (simulation, seed 48071). Then a token bucket gives nothing; a quota cannot refill what it
   * would lack if it had gone back after all.
   */
  private static boolean mayMissStamps(Correction correction) {
    return correction.chargedTokens() == 0 && correction.limit().refills();
  }

  private static boolean isFullBy(long epochMicros, Correction correction) {
    return correction.limit().refills()
        ? truth(correction) <= epochMicros
        : correction.limit().isOverAt(epochMicros);
  }

  /** What a bucket may lack at most after a correction: its capacity and the policy's debt. */
  private static long mostMissingUnits(BucketArithmetic arithmetic, BoundedCorrection bounded) {
    return Math.min(
        TokenBucketLimit.EXACT_BELOW - 1,
        arithmetic.capacityUnits()
            + Numbers.boundedProduct(bounded(bounded.debtCapTokens()), arithmetic.unitsPerToken()));
  }
}
