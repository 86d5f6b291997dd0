// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.simulate;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketState;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingWindow;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A limit that policies may set, by the arithmetic that Redis follows. */
final class PolicyLimiter implements SimulatedLimiter {
  private static final long MICROS_PER_MILLI = 1_000;

  /** As many buckets as a decision depends on. */
  private static final int MAX_BUCKETS = SlidingWindow.MAX_SUB_WINDOWS + 1;

  private final PolicyLimit limit;
  private final Map<String, BucketState> states = new LinkedHashMap<>();
  private String bucket = "";
  private PeriodicLimit.@Nullable Span period;

  PolicyLimiter(PolicyLimit limit) {
    this.limit = limit;
  }

  private BucketArithmetic at(long atMicros) {
    if (limit instanceof PeriodicLimit periodic) {
      PeriodicLimit.Span now = periodic.at(atMicros / MICROS_PER_MILLI, ClientCalendar.OF_POLICY);
      if (!now.equals(period)) {
        period = now;
        bucket = BucketKey.of("simulated", "client").in(now.endEpochSecond()).text();
        if (states.size() >= MAX_BUCKETS) {
          states.remove(states.keySet().iterator().next());
        }
      }
    }
    return limit.ofBucket(period).deciding(bucket, states::get, atMicros);
  }

  @Override
  public boolean take(long atMicros) {
    BucketArithmetic arithmetic = at(atMicros);
    BucketState refilled = arithmetic.refill(states.get(bucket), atMicros);
    if (!arithmetic.holds(refilled, 1)) {
      return false;
    }
    states.put(bucket, arithmetic.charge(refilled, 1, atMicros));
    return true;
  }

  @Override
  public double used(long atMicros) {
    BucketArithmetic arithmetic = at(atMicros);
    long level = arithmetic.levelUnits(arithmetic.refill(states.get(bucket), atMicros));
    return limit.capacityTokens() - (double) level / arithmetic.unitsPerToken();
  }
}
