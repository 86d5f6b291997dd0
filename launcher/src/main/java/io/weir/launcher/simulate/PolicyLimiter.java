// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.simulate;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketState;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import org.jspecify.annotations.Nullable;

/** A limit that policies may set, by the arithmetic that Redis follows. */
final class PolicyLimiter implements SimulatedLimiter {
  private static final long MICROS_PER_MILLI = 1_000;

  private final PolicyLimit limit;
  private @Nullable BucketState state;
  private PeriodicLimit.@Nullable Span period;

  PolicyLimiter(PolicyLimit limit) {
    this.limit = limit;
  }

  private BucketArithmetic at(long atMicros) {
    if (limit instanceof PeriodicLimit periodic) {
      PeriodicLimit.Span now = periodic.at(atMicros / MICROS_PER_MILLI, ClientCalendar.OF_POLICY);
      if (!now.equals(period)) {
        period = now;
        state = null;
      }
    }
    return limit.ofBucket(period).arithmetic();
  }

  @Override
  public boolean take(long atMicros) {
    BucketArithmetic arithmetic = at(atMicros);
    BucketState refilled = arithmetic.refill(state, atMicros);
    if (!arithmetic.holds(refilled, 1)) {
      return false;
    }
    state = arithmetic.charge(refilled, 1, atMicros);
    return true;
  }

  @Override
  public double used(long atMicros) {
    BucketArithmetic arithmetic = at(atMicros);
    long level = arithmetic.levelUnits(arithmetic.refill(state, atMicros));
    return limit.capacityTokens() - (double) level / arithmetic.unitsPerToken();
  }
}
