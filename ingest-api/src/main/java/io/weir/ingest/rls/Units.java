// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.FixedWindow;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.time.ZoneOffset;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The time units of Envoy's limits. A month has 30 days and a year 365 days, as in Envoy's
 * reference implementation. Windows are aligned to the epoch. Stateless and thread-safe.
 */
public final class Units {
  private static final long DAY = 86_400;

  private static final Map<Unit, Long> SECONDS =
      Map.of(
          Unit.SECOND,
          1L,
          Unit.MINUTE,
          60L,
          Unit.HOUR,
          3_600L,
          Unit.DAY,
          DAY,
          Unit.WEEK,
          7 * DAY,
          Unit.MONTH,
          30 * DAY,
          Unit.YEAR,
          365 * DAY);

  private Units() {}

  /**
   * Returns the duration of a unit in seconds.
   *
   * @param unit name of the unit, as in the configuration of Envoy's reference implementation; its
   *     case does not matter
   * @return the duration; 0 if the unit is unknown
   */
  public static long seconds(String unit) {
    for (Map.Entry<Unit, Long> each : SECONDS.entrySet()) {
      if (each.getKey().name().equalsIgnoreCase(unit)) {
        return each.getValue();
      }
    }
    return 0;
  }

  /**
   * Returns a limit of a number of requests per unit. With 0 requests, the limit denies every call.
   *
   * @param requests 0 to 2^32 − 1
   * @param unit the number of the unit
   * @return the limit; null if the unit is unknown
   */
  static @Nullable PolicyLimit limit(long requests, int unit) {
    Unit known = Unit.forNumber(unit);
    Long seconds = known == null ? null : SECONDS.get(known);
    if (seconds == null) {
      return null;
    }
    return requests == 0
        ? TokenBucketLimit.DENY
        : new FixedWindow(requests, seconds, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
  }

  /**
   * Returns the unit whose duration equals the period of a limit; {@link Unit#UNKNOWN} if there is
   * none.
   *
   * @param limit the limit of the policy
   * @param windowMicros the length of the bucket's window
   */
  static Unit of(PolicyLimit limit, long windowMicros) {
    if (limit instanceof CalendarQuota quota) {
      return of(quota.period());
    }
    for (Map.Entry<Unit, Long> each : SECONDS.entrySet()) {
      if (each.getValue() * 1_000_000 == windowMicros) {
        return each.getKey();
      }
    }
    return Unit.UNKNOWN;
  }

  private static Unit of(CalendarPeriod period) {
    return switch (period) {
      case DAY -> Unit.DAY;
      case WEEK -> Unit.WEEK;
      case MONTH, BILLING -> Unit.MONTH;
    };
  }
}
