// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.decision.BucketArithmetic;
import io.weir.decision.BucketState;
import io.weir.decision.correction.BucketCorrector.Bounded;
import io.weir.decision.correction.BucketCorrector.Kind;
import io.weir.decision.correction.BucketCorrector.Outcome;
import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.Correction;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
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
  public record Result(Outcome outcome, @Nullable BucketState state, long ttlMillis) {
    static Result unchanged(Kind kind) {
      return new Result(new Outcome(kind, 0, false), null, 0);
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
        correction.limit() instanceof QuotaLimit
            ? correction.totalTokens()
            : correction.fullAtEpochMicros());
  }

  /**
   * Applies a correction.
   *
   * @param kept the state kept under its bucket, null when there is none
   * @param nowEpochMicros the cache's clock
   */
  public static Result apply(Bounded bounded, @Nullable BucketState kept, long nowEpochMicros) {
    Correction correction = bounded.correction();
    BucketArithmetic arithmetic = BucketArithmetic.of(correction.limit());
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
    long sinceTokens = chargedSince(before, epoch, bounded(correction.chargedTokens()));
    boolean isBehind = sinceTokens < 0;
    long chargedUnits = product(Math.max(0, sinceTokens), arithmetic.unitsPerToken());
    long lackingUnits = missingUnits(correction, nowEpochMicros);
    long highUnits = Math.max(0, lackingUnits + chargedUnits);
    // what was charged since may have been refilled under the limit that it is carried over to
    long lowUnits =
        bounded.takesOnly()
            ? lackingUnits
            : Math.max(0, highUnits - refilledUnits(correction, nowEpochMicros));
    if (bounded.takesOnly() || (isBehind && mayMissStamps(correction))) {
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
        new Outcome(gone ? Kind.CREATED : Kind.APPLIED, changeTokens, missingUnits > mostUnits),
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
        || (epoch < kept.epoch() && kept.correctedEpoch() == 0 && !(limit instanceof QuotaLimit));
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
   * Whether no charge that the cache made is known, so that what looks like a cache gone back may
   * be a life whose stamps are on their way. Then a token bucket gives nothing; a quota cannot
   * refill what it would lack if it had gone back after all.
   */
  private static boolean mayMissStamps(Correction correction) {
    return correction.chargedTokens() == 0 && correction.limit() instanceof TokenBucketLimit;
  }

  private static boolean isFullBy(long epochMicros, Correction correction) {
    return correction.limit() instanceof QuotaLimit quota
        ? quota.endsAtEpochMicros() <= epochMicros
        : truth(correction) <= epochMicros;
  }

  /**
   * What the bucket lacks of its capacity by the records alone; a tick that has begun is lacking.
   */
  private static long missingUnits(Correction correction, long nowEpochMicros) {
    long truth = truth(correction);
    if (correction.limit() instanceof TokenBucketLimit limit) {
      TokenBucketLimit.Scale scale = limit.scale();
      long waitMicros = Math.max(0, truth - nowEpochMicros);
      long ticks = (waitMicros + scale.tickMicros() - 1) / scale.tickMicros();
      return product(ticks, scale.unitsPerTick());
    }
    return truth;
  }

  /**
   * What a bucket that was full by the records alone has gained since then, if it could hold it.
   */
  private static long refilledUnits(Correction correction, long nowEpochMicros) {
    if (correction.limit() instanceof TokenBucketLimit limit) {
      TokenBucketLimit.Scale scale = limit.scale();
      long fullForMicros = Math.max(0, nowEpochMicros - truth(correction));
      return product(fullForMicros / scale.tickMicros(), scale.unitsPerTick());
    }
    return 0;
  }

  /** What a bucket may lack at most after a correction: its capacity and the policy's debt. */
  private static long mostMissingUnits(BucketArithmetic arithmetic, Bounded bounded) {
    return Math.min(
        TokenBucketLimit.EXACT_BELOW - 1,
        arithmetic.capacityUnits()
            + product(bounded(bounded.debtCapTokens()), arithmetic.unitsPerToken()));
  }

  /** The product of two numbers ≥ 0, or 2^53 when it is larger: more than any bucket may lack. */
  private static long product(long one, long other) {
    return one != 0 && other > TokenBucketLimit.EXACT_BELOW / one
        ? TokenBucketLimit.EXACT_BELOW
        : one * other;
  }
}
