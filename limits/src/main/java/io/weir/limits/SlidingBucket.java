// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of the current sub-window of a {@link SlidingWindow} at one time. This arithmetic
 * subtracts the tokens taken in the earlier sub-windows from the level. Nodes whose clocks are
 * ahead take tokens in the next sub-window, and this arithmetic also subtracts these tokens. In all
 * other respects, this arithmetic equals {@link PeriodBucket}. Immutable.
 *
 * <p>Example: 100 tokens per minute with one sub-window. Calls took 80 tokens in the previous
 * minute and 30 in the current minute. After 15 s, three quarters of the 80 tokens count, so 10
 * tokens are left.
 *
 * <p>If the limit was lowered by orders of magnitude, a count can be too large for the
 * multiplication in {@link #weighted}. The multiplication then uses the largest possible count.
 */
final class SlidingBucket implements BucketArithmetic {
  private final PeriodBucket own;
  private final SlidingWindowLimit limit;

  /**
   * Tokens taken in the earlier sub-windows, the oldest first, and then in the next sub-window;
   * each ≥ 0.
   */
  private final long[] others;

  /** Number of earlier sub-windows, and index of the current sub-window. */
  private final int current;

  private final long steps;
  private final long stepMicros;
  private final long endsAtMicros;

  /** Tokens that count now in the other sub-windows; 0 to 2^53 − 1. */
  private final long otherTokens;

  SlidingBucket(SlidingWindowLimit limit, long[] others, long nowEpochMicros) {
    this.own = new PeriodBucket(limit.capacityTokens(), limit.endsAtEpochMicros());
    this.limit = limit;
    this.others = others;
    this.current = others.length - 1;
    this.stepMicros = limit.stepMicros();
    this.steps = limit.windowMicros() / stepMicros;
    this.endsAtMicros = limit.subWindowEndsAtMicros();
    long counted = weighted(others[0], stepsLeft(nowEpochMicros));
    for (int i = 1; i < others.length; i++) {
      counted = bounded(counted + others[i]);
    }
    this.otherTokens = counted;
  }

  /**
   * Returns the number of steps until the current sub-window ends, rounded up; 0 if the sub-window
   * has ended.
   */
  private long stepsLeft(long nowEpochMicros) {
    long leftMicros = Math.max(0, endsAtMicros - nowEpochMicros);
    return Math.min(steps, (leftMicros + stepMicros - 1) / stepMicros);
  }

  /** Returns the weighted count of a sub-window with the given number of steps left, rounded up. */
  private long weighted(long tokens, long stepsLeft) {
    return (Math.min(tokens, Numbers.MAX / steps) * stepsLeft + steps - 1) / steps;
  }

  private static long bounded(long tokens) {
    return Math.min(tokens, Numbers.MAX);
  }

  private long ownTokens(BucketState refilled) {
    return -refilled.units();
  }

  /**
   * Returns the tokens taken in the sub-window with the given index. Index 0 is the oldest
   * sub-window. The last two indexes are the current sub-window and the next sub-window.
   */
  private long count(int index, BucketState refilled) {
    if (index == current) {
      return ownTokens(refilled);
    }
    return others[index < current ? index : index - 1];
  }

  @Override
  public long levelUnits(BucketState refilled) {
    return own.capacityTokens() - bounded(otherTokens + ownTokens(refilled));
  }

  /**
   * Returns the time until all taken tokens have stopped counting; 0 if no taken tokens count now.
   * The newest sub-window in which calls took tokens determines this time.
   */
  @Override
  public long resetMicros(BucketState refilled, long nowEpochMicros) {
    for (int index = others.length; index >= 0; index--) {
      if (count(index, refilled) > 0) {
        return wait(endsAtMicros + index * limit.windowMicros(), nowEpochMicros);
      }
    }
    return 0;
  }

  /**
   * Returns the time until the window has enough tokens for the cost if no call takes tokens
   * meanwhile. The sub-windows stop counting one after another, the oldest first.
   */
  @Override
  public long retryAfterMicros(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!canHold(costTokens)) {
      return -1;
    }
    if (holds(refilled, costTokens)) {
      return 0;
    }
    long most = own.capacityTokens() - costTokens;
    long newer = 0;
    long[] newerThan = new long[others.length + 1];
    for (int index = others.length; index >= 0; index--) {
      newerThan[index] = newer;
      newer = bounded(newer + count(index, refilled));
    }
    for (int index = 0; index < others.length; index++) {
      if (newerThan[index] <= most) {
        return fallsTo(most - newerThan[index], index, refilled, nowEpochMicros);
      }
    }
    return fallsTo(most, others.length, refilled, nowEpochMicros);
  }

  /**
   * Returns the time until the weighted count of a sub-window has fallen to the given number of
   * tokens.
   */
  private long fallsTo(long tokens, int index, BucketState refilled, long nowEpochMicros) {
    long count = Math.min(count(index, refilled), Numbers.MAX / steps);
    long stepsLeft = count == 0 ? steps : Math.min(steps, tokens * steps / count);
    return wait(
        endsAtMicros + index * limit.windowMicros() - stepsLeft * stepMicros, nowEpochMicros);
  }

  private static long wait(long untilMicros, long nowEpochMicros) {
    return Math.min(MAX_WAIT_MICROS, Math.max(1, untilMicros - nowEpochMicros));
  }

  @Override
  public Parameters parameters() {
    return own.parameters();
  }

  @Override
  public long capacityTokens() {
    return own.capacityTokens();
  }

  @Override
  public long capacityUnits() {
    return own.capacityUnits();
  }

  @Override
  public long unitsPerToken() {
    return own.unitsPerToken();
  }

  @Override
  public BucketState atLevel(BucketState kept, long levelUnits, long nowEpochMicros) {
    return own.atLevel(kept, levelUnits, nowEpochMicros);
  }

  @Override
  public BucketState refill(@Nullable BucketState kept, long nowEpochMicros) {
    return own.refill(kept, nowEpochMicros);
  }

  @Override
  public BucketState charge(BucketState refilled, long costTokens, long nowEpochMicros) {
    if (!holds(refilled, costTokens)) {
      throw new IllegalArgumentException(
          "the window has too few tokens for the cost " + costTokens + ": " + refilled);
    }
    return own.charge(refilled, costTokens, nowEpochMicros);
  }

  @Override
  public long fillMicros() {
    return own.fillMicros();
  }

  @Override
  public long moreMicros(long remainingTokens, long resetMicros) {
    return own.moreMicros(remainingTokens, resetMicros);
  }

  @Override
  public long missingUnits(long truth, long nowEpochMicros) {
    return own.missingUnits(truth, nowEpochMicros);
  }

  @Override
  public long refilledUnits(long truth, long nowEpochMicros) {
    return own.refilledUnits(truth, nowEpochMicros);
  }
}
