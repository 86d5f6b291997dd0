// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;

/**
 * One calendar period of a {@link CalendarQuota}.
 *
 * @param capacityTokens tokens of the period, 1 to 2^53 − 1
 * @param endsAtEpochMicros exclusive end of the period, in microseconds since 1970 by the cache's
 *     clock; 1 to 2^53 − 1
 */
public record QuotaLimit(long capacityTokens, long endsAtEpochMicros) implements PeriodLimit {
  public QuotaLimit {
    Numbers.require("capacity", capacityTokens, 1);
    Numbers.require("ends_at (µs)", endsAtEpochMicros, 1);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.QUOTA;
  }

  @Override
  public QuotaLimit shareOf(int nodes) {
    return new QuotaLimit(Math.max(1, capacityTokens / nodes), endsAtEpochMicros);
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("ends_at_us", endsAtEpochMicros);
  }
}
