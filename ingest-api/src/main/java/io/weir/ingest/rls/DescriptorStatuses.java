// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.Duration;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import org.jspecify.annotations.Nullable;

/**
 * Tells the verdict on a call as the status of a descriptor. Of several policies it tells the one
 * that the record names: of those that deny the call the one with the longest wait, else the one
 * with the smallest part of its limit left. Numbers above 2^32 − 1 are told as 2^32 − 1. Stateless
 * and thread-safe.
 */
final class DescriptorStatuses {
  /** Greatest number of a 32-bit field without a sign. */
  static final long MAX_UINT32 = 0xffff_ffffL;

  private static final long MICROS_PER_MILLI = 1_000;
  private static final long MILLIS_PER_SECOND = 1_000;
  private static final int NANOS_PER_MILLI = 1_000_000;

  private DescriptorStatuses() {}

  static DescriptorStatus of(CheckOutcome.Decided decided) {
    DescriptorStatus.Builder status =
        DescriptorStatus.newBuilder().setCode(decided.call().allowed() ? Code.OK : Code.OVER_LIMIT);
    LimitStatus told = told(decided);
    if (told != null) {
      status
          .setCurrentLimit(limit(told))
          .setLimitRemaining(uint32(told.remainingTokens()))
          .setDurationUntilReset(duration(told.reply().resetMicros()));
    }
    return status.build();
  }

  /** Returns the limit of the policy that the record names; null if it promises nothing. */
  static @Nullable LimitStatus told(CheckOutcome.Decided decided) {
    for (LimitStatus limit : decided.limits()) {
      if (limit.enforced() && limit.policy().name().equals(decided.call().policy())) {
        return limit;
      }
    }
    return null;
  }

  private static RateLimit limit(LimitStatus told) {
    return RateLimit.newBuilder()
        .setName(told.policy().name())
        .setRequestsPerUnit(uint32(told.limit().capacityTokens()))
        .setUnit(
            Units.of(
                told.policy().limit(),
                told.period(),
                told.limit().capacityTokens() == 0
                    ? 0
                    : told.limit().windowMicros(told.limit().arithmetic())))
        .build();
  }

  /** Returns the bits of a number as a field of 32 bits without a sign has them. */
  static int uint32(long value) {
    return (int) Math.min(Math.max(0, value), MAX_UINT32);
  }

  /** Returns a length of time in milliseconds, rounded up. */
  static Duration duration(long micros) {
    long millis = micros / MICROS_PER_MILLI + (micros % MICROS_PER_MILLI > 0 ? 1 : 0);
    return Duration.newBuilder()
        .setSeconds(millis / MILLIS_PER_SECOND)
        .setNanos((int) (millis % MILLIS_PER_SECOND) * NANOS_PER_MILLI)
        .build();
  }
}
