// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.Duration;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;

/**
 * Converts the outcome of a call to the status of a descriptor. If several policies apply, the
 * status reports the policy in the call's record. For a denied call, the record names the denying
 * policy with the longest wait. For an allowed call, the record names the policy with the smallest
 * remaining fraction of its limit. Numbers above 2^32 − 1 are reported as 2^32 − 1. Stateless and
 * thread-safe.
 */
final class DescriptorStatuses {
  /** Maximum of an unsigned 32-bit field. */
  static final long MAX_UINT32 = 0xffff_ffffL;

  private static final long MICROS_PER_MILLI = 1_000;
  private static final long MILLIS_PER_SECOND = 1_000;
  private static final int NANOS_PER_MILLI = 1_000_000;

  private DescriptorStatuses() {}

  static DescriptorStatus of(CheckOutcome.Decided decided) {
    DescriptorStatus.Builder status =
        DescriptorStatus.newBuilder().setCode(decided.call().allowed() ? Code.OK : Code.OVER_LIMIT);
    LimitStatus reported = decided.recordedLimit();
    if (reported != null) {
      status
          .setCurrentLimit(limit(reported))
          .setLimitRemaining(uint32(reported.remainingTokens()))
          .setDurationUntilReset(duration(reported.reply().resetMicros()));
    }
    return status.build();
  }

  private static RateLimit limit(LimitStatus reported) {
    return RateLimit.newBuilder()
        .setName(reported.policy().name())
        .setRequestsPerUnit(uint32(reported.limit().capacityTokens()))
        .setUnit(
            Units.of(reported.policy().limit(), reported.limit().windowMicros(reported.period())))
        .build();
  }

  /** Returns a number, limited to 32 bits, as the bits of an unsigned 32-bit field. */
  static int uint32(long value) {
    return (int) Math.min(Math.max(0, value), MAX_UINT32);
  }

  /** Converts microseconds to a duration in whole milliseconds, rounded up. */
  static Duration duration(long micros) {
    long millis = micros / MICROS_PER_MILLI + (micros % MICROS_PER_MILLI > 0 ? 1 : 0);
    return Duration.newBuilder()
        .setSeconds(millis / MILLIS_PER_SECOND)
        .setNanos((int) (millis % MILLIS_PER_SECOND) * NANOS_PER_MILLI)
        .build();
  }
}
