// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** Seeded random numbers with a bias towards the edges of their ranges. */
public final class EdgeNumbers {
  private static final long YEAR_MICROS = 365L * 86_400 * 1_000_000;
  private static final long[] PERIODS_MICROS = {
    1, 7, 999, 1_000, 1_000_000, 60_000_000, 3_600_000_000L, 86_400_000_000L, YEAR_MICROS
  };

  /** Maximum number in a record. */
  private static final long GREATEST = TokenBucketLimit.EXACT_BELOW - 1;

  private final Random random;

  /** Creates the numbers of a seed. */
  public EdgeNumbers(long seed) {
    this.random = new Random(seed);
  }

  /** Returns the source of random numbers. */
  public Random random() {
    return random;
  }

  /** Returns a number in [1, max], often near 1 or max. */
  public long upTo(long max) {
    return switch (random.nextInt(6)) {
      case 0 -> 1;
      case 1 -> max;
      case 2 -> Math.max(1, max - random.nextInt(3));
      case 3 -> 1 + random.nextInt((int) Math.min(max, 10));
      case 4 -> 1 + (long) (random.nextDouble() * (max - 1));
      default -> 1 + (long) Math.pow(2, random.nextDouble() * log2(max)) % max;
    };
  }

  private static double log2(long value) {
    return Math.log((double) value) / Math.log(2);
  }

  /** Returns a valid limit of any size. */
  public TokenBucketLimit limit() {
    while (true) {
      long capacityTokens =
          upTo(random.nextInt(3) == 0 ? TokenBucketLimit.EXACT_BELOW - 1 : 1_000_000);
      long refillTokens = upTo(random.nextInt(3) == 0 ? TokenBucketLimit.EXACT_BELOW - 1 : 10_000);
      long periodMicros =
          random.nextInt(4) == 0
              ? upTo(TokenBucketLimit.MAX_PERIOD_MICROS)
              : PERIODS_MICROS[random.nextInt(PERIODS_MICROS.length)];
      try {
        return new TokenBucketLimit(capacityTokens, refillTokens, periodMicros);
      } catch (IllegalArgumentException notCountable) {
        // tries again; other tests cover the combinations that are not valid
      }
    }
  }

  /** Returns a quota of any size. Most periods have not ended. */
  public QuotaLimit quota(long nowEpochMicros) {
    long endsAt =
        nowEpochMicros + (random.nextInt(4) == 0 ? -upTo(YEAR_MICROS) : upTo(YEAR_MICROS));
    return new QuotaLimit(
        upTo(random.nextInt(3) == 0 ? TokenBucketLimit.EXACT_BELOW - 1 : 1_000_000),
        random.nextInt(8) == 0 ? upTo(TokenBucketLimit.EXACT_BELOW - 1) : Math.max(1, endsAt));
  }

  /**
   * Returns a cost: usually within the capacity, sometimes above it, sometimes the maximum cost.
   */
  public long cost(BucketLimit limit) {
    return switch (random.nextInt(8)) {
      case 0 -> Long.MAX_VALUE - random.nextInt(2);
      case 1 -> limit.capacityTokens() + 1 + random.nextInt(2);
      case 2 -> limit.capacityTokens();
      case 3 -> upTo(limit.capacityTokens());
      default -> upTo(Math.max(1, limit.capacityTokens() / 3));
    };
  }

  /** Returns a correction of a bucket with the given state. Most corrections are not stale. */
  public Correction correction(
      String bucket, BucketLimit limit, @Nullable BucketState kept, long nowEpochMicros) {
    long epoch = kept == null ? nowEpochMicros : eitherEpoch(kept);
    long version = kept == null ? 1 : kept.version();
    long charged = kept == null ? upTo(100) : kept.chargedTokens();
    long capacity = limit.capacityTokens();
    return new Correction(
        bucket,
        limit,
        near(epoch, 1),
        near(version, 1),
        near(charged, 0),
        near(fullAt(limit, nowEpochMicros), 0),
        random.nextInt(5) == 0 ? -upTo(Long.MAX_VALUE) : near(upTo(capacity), 0),
        0,
        Correction.Cause.GAP,
        1,
        2,
        random.nextBoolean() ? 0 : Math.max(0, nowEpochMicros + stepMicros(limit())));
  }

  /** Returns a time at which a bucket is full by its records: now, later or earlier. */
  private long fullAt(BucketLimit limit, long nowEpochMicros) {
    long refillMicros =
        limit instanceof TokenBucketLimit bucket ? bucket.refillPeriodMicros() : YEAR_MICROS;
    return switch (random.nextInt(4)) {
      case 0 -> nowEpochMicros;
      case 1 -> Math.max(0, nowEpochMicros - upTo(10 * refillMicros));
      default -> nowEpochMicros + upTo(2 * YEAR_MICROS);
    };
  }

  private long eitherEpoch(BucketState kept) {
    boolean corrected = kept.correctedEpoch() > 0 && random.nextBoolean();
    return corrected ? kept.correctedEpoch() : kept.epoch();
  }

  /**
   * Returns a number of a correction: near another number, or any number that is valid in a record.
   */
  private long near(long number, long least) {
    return Math.min(anyNear(number, least), GREATEST);
  }

  private long anyNear(long number, long least) {
    return switch (random.nextInt(6)) {
      case 0 -> upTo(GREATEST);
      case 1 -> Math.max(least, number - upTo(10));
      case 2 -> number + upTo(10);
      case 3 -> number + 1;
      case 4 -> Math.max(least, number - upTo(Math.max(1, number)));
      default -> Math.max(least, number);
    };
  }

  /** Returns how far the clock moves before the next call: from a step back to years. */
  public long stepMicros(TokenBucketLimit limit) {
    long tickMicros = limit.scale().tickMicros();
    return switch (random.nextInt(9)) {
      case 0 -> 0;
      case 1 -> -upTo(5_000_000);
      case 2 -> -upTo(2 * YEAR_MICROS);
      case 3 -> upTo(3 * YEAR_MICROS);
      case 4 -> tickMicros - random.nextInt(2);
      case 5 -> upTo(3 * tickMicros);
      case 6 -> upTo(1_000);
      default -> upTo(limit.refillPeriodMicros());
    };
  }

  /**
   * Returns a state that any limit may have written, with times near the clock. It is often in
   * debt.
   */
  public BucketState state(long nowEpochMicros) {
    long last = Math.max(1, nowEpochMicros + stepMicros(limit()));
    long units = upTo(TokenBucketLimit.EXACT_BELOW) - 1;
    boolean quota = random.nextInt(3) == 0;
    long epoch = upTo(nowEpochMicros);
    return new BucketState(
        quota || random.nextInt(2) == 0 ? -units : units,
        quota ? 0 : upTo(TokenBucketLimit.EXACT_BELOW - 1),
        Math.min(last, TokenBucketLimit.EXACT_BELOW - 1),
        epoch,
        random.nextBoolean() ? epoch : upTo(epoch),
        upTo(TokenBucketLimit.EXACT_BELOW) - 1,
        upTo(TokenBucketLimit.EXACT_BELOW) - 1);
  }
}
