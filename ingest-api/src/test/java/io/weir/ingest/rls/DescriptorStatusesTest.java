// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Duration;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.FixedWindow;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;

final class DescriptorStatusesTest {
  private static final PeriodicLimit.Span SPAN = new PeriodicLimit.Span(0, 86_400);

  @Test
  void uint32_isClampedToItsRange() {
    assertEquals(0, DescriptorStatuses.uint32(-1));
    assertEquals(0, DescriptorStatuses.uint32(0));
    assertEquals(Integer.MAX_VALUE, DescriptorStatuses.uint32(0x7fff_ffffL));
    assertEquals(0x8000_0000L, Integer.toUnsignedLong(DescriptorStatuses.uint32(0x8000_0000L)));
    assertEquals(0xffff_ffffL, Integer.toUnsignedLong(DescriptorStatuses.uint32(0xffff_ffffL)));
    assertEquals(0xffff_ffffL, Integer.toUnsignedLong(DescriptorStatuses.uint32(0x1_0000_0000L)));
    assertEquals(0xffff_ffffL, Integer.toUnsignedLong(DescriptorStatuses.uint32(Long.MAX_VALUE)));
  }

  @Test
  void duration_isInMillisecondsRoundedUp() {
    assertEquals(Duration.getDefaultInstance(), DescriptorStatuses.duration(0));
    assertEquals(Duration.newBuilder().setNanos(1_000_000).build(), DescriptorStatuses.duration(1));
    assertEquals(Duration.newBuilder().setSeconds(1).build(), DescriptorStatuses.duration(999_001));
    assertEquals(
        Duration.newBuilder().setSeconds(2).setNanos(3_000_000).build(),
        DescriptorStatuses.duration(2_002_001));
    long most = (1L << 53) - 1;
    assertEquals(9_007_199_254L, DescriptorStatuses.duration(most).getSeconds());
  }

  @Test
  void unit_isSetIfTheLimitHasOne() {
    TokenBucketLimit bucket = new TokenBucketLimit(10, 10, 60_000_000);
    assertEquals(Unit.MINUTE, Units.of(bucket, 60_000_000));
    assertEquals(Unit.UNKNOWN, Units.of(bucket, 60_000_001));
    assertEquals(Unit.SECOND, unit(window(1), new PeriodicLimit.Span(7, 8)));
    assertEquals(Unit.WEEK, unit(window(7 * 86_400), new PeriodicLimit.Span(0, 604_800)));
    assertEquals(Unit.MINUTE, unit(new SlidingWindow(5, 60, 6), new PeriodicLimit.Span(0, 10)));
    assertEquals(Unit.UNKNOWN, unit(window(90), new PeriodicLimit.Span(0, 90)));
    assertEquals(Unit.MONTH, unit(quota(CalendarPeriod.MONTH), SPAN));
    assertEquals(Unit.MONTH, unit(quota(CalendarPeriod.BILLING), SPAN));
    assertEquals(Unit.DAY, unit(quota(CalendarPeriod.DAY), SPAN));
    assertEquals(Unit.WEEK, unit(quota(CalendarPeriod.WEEK), SPAN));
  }

  private static Unit unit(PolicyLimit limit, PeriodicLimit.Span span) {
    return Units.of(limit, limit.ofBucket(span).windowMicros(span));
  }

  private static FixedWindow window(long seconds) {
    return new FixedWindow(5, seconds, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
  }

  private static CalendarQuota quota(CalendarPeriod period) {
    return new CalendarQuota(5, period, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
  }
}
