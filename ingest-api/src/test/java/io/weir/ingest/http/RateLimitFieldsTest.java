// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.limits.BucketState;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucket;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.greenbytes.http.sfv.Item;
import org.greenbytes.http.sfv.OuterList;
import org.greenbytes.http.sfv.Parser;
import org.junit.jupiter.api.Test;

final class RateLimitFieldsTest {
  @Test
  void fields_ofTwoPolicies_areTheDraftsSyntax() {
    List<LimitStatus> limits =
        List.of(
            limit("burst", PolicyMode.ENFORCE, 100, 99, 600_000),
            limit("daily", PolicyMode.ENFORCE, 1_000, 12, 592_600_000));

    assertEquals("\"burst\";q=100;w=60, \"daily\";q=1000;w=600", RateLimitFields.policy(limits));
    assertEquals("\"burst\";r=99;t=1, \"daily\";r=12;t=1", RateLimitFields.state(limits, null));
  }

  @Test
  void state_ofABucket_showsWhenOneMoreTokenIsAvailable() {
    Random random = new Random(23);
    for (int round = 0; round < 2_000; round++) {
      long capacity = 1L + random.nextInt(50);
      TokenBucketLimit limit =
          new TokenBucketLimit(
              capacity, 1 + random.nextInt(20), 1_000L * (1 + random.nextInt(3_600_000)));
      TokenBucket bucket = TokenBucket.of(limit);
      long now = 1_795_232_923_673_211L + random.nextInt(1_000_000);
      BucketState left =
          bucket.charge(bucket.refill(null, now), 1 + random.nextInt((int) capacity), now);
      now += random.nextInt(10_000_000);
      BucketState state = bucket.refill(left, now);
      long remaining = bucket.remainingTokens(state);
      long more = Math.max(0, bucket.retryAfterMicros(state, remaining + 1, now));

      String field =
          RateLimitFields.state(
              List.of(
                  new LimitStatus(
                      policy("p", limit, PolicyMode.ENFORCE),
                      limit,
                      null,
                      new BucketReply(
                          true, remaining, bucket.resetMicros(state, now), 0, 1, 0, 1, true))),
              null);

      long tick = limit.scale().tickMicros();
      long told = Long.parseLong(field.substring(field.indexOf(";t=") + 3));
      assertTrue(
          told >= ceilSeconds(more) && told <= ceilSeconds(more + tick),
          () -> limit + " " + state + " more=" + more + ": " + field);
    }
  }

  @Test
  void state_ofADeniedCall_showsNoTimeLaterThanRetryAfter() {
    List<LimitStatus> limits =
        List.of(
            limit("burst", PolicyMode.ENFORCE, 100, 3, 58_200_000),
            new LimitStatus(
                policy(
                    "monthly",
                    new CalendarQuota(
                        10_000,
                        CalendarPeriod.MONTH,
                        ZoneId.of("UTC"),
                        CalendarQuota.FIRST_OF_MONTH),
                    PolicyMode.ENFORCE),
                new QuotaLimit(10_000, 1_796_083_200_000_000L),
                null,
                new BucketReply(true, 17, 864_000_000_000L, 0, 1, 0, 9_983, false)));

    assertEquals(
        "\"burst\";r=3;t=1, \"monthly\";r=17;t=2",
        RateLimitFields.state(limits, new CheckOutcome.Denial(List.of("burst"), 1_200_000, false)));
    assertEquals(
        "\"burst\";r=3;t=1, \"monthly\";r=17;t=864000",
        RateLimitFields.state(limits, new CheckOutcome.Denial(List.of("burst"), -1, true)));
  }

  @Test
  void state_ofAFullBucket_showsZeroWait() {
    assertEquals(
        "\"burst\";r=100;t=0",
        RateLimitFields.state(List.of(limit("burst", PolicyMode.ENFORCE, 100, 100, 0)), null));
  }

  @Test
  void fields_ofShadowPolicies_areLeftOut() {
    List<LimitStatus> limits = List.of(limit("later", PolicyMode.SHADOW, 5, 0, 1));

    assertEquals("", RateLimitFields.policy(limits));
    assertEquals("", RateLimitFields.state(limits, null));
  }

  @Test
  void fields_ofAnyName_areReadByAParserOfStructuredFields() {
    for (String name : List.of("a\"b", "a\\b", "ü €", "😀", "a, b;c=1", "100%")) {
      String field = RateLimitFields.policy(List.of(limit(name, PolicyMode.ENFORCE, 100, 1, 1)));

      OuterList parsed = new Parser(field).parseList();

      assertEquals(1, parsed.get().size(), field);
      Item<?> item = (Item<?>) parsed.get().get(0);
      assertEquals(100L, Objects.requireNonNull(item.getParams().get("q")).get(), field);
    }
  }

  @Test
  void retryAfter_isRoundedUp_andNeverZero() {
    assertEquals(1, RateLimitFields.retryAfterSeconds(0));
    assertEquals(1, RateLimitFields.retryAfterSeconds(1));
    assertEquals(1, RateLimitFields.retryAfterSeconds(1_000_000));
    assertEquals(2, RateLimitFields.retryAfterSeconds(1_000_001));
  }

  @Test
  void fields_ofAQuota_showItsPeriodAndItsEnd() {
    CalendarQuota monthly =
        new CalendarQuota(
            10_000, CalendarPeriod.MONTH, ZoneId.of("Europe/Paris"), CalendarQuota.FIRST_OF_MONTH);
    long now = Instant.parse("2026-03-31T21:00:00Z").toEpochMilli();
    PeriodicLimit.Span march = monthly.at(now, ClientCalendar.OF_POLICY);
    long endMicros = march.endEpochSecond() * 1_000_000;
    List<LimitStatus> limits =
        List.of(
            new LimitStatus(
                policy("monthly", monthly, PolicyMode.ENFORCE),
                new QuotaLimit(10_000, endMicros),
                march,
                new BucketReply(true, 17, endMicros - now * 1_000, 0, 1, 0, 9_983, true)));

    assertEquals("\"monthly\";q=10000;w=" + (31 * 86_400 - 3_600), RateLimitFields.policy(limits));
    assertEquals("\"monthly\";r=17;t=3600", RateLimitFields.state(limits, null));
  }

  @Test
  void fields_ofABucketInDebt_showZeroRemaining() {
    assertEquals(
        "\"burst\";r=0;t=31",
        RateLimitFields.state(
            List.of(limit("burst", PolicyMode.ENFORCE, 100, -50, 90_000_000)), null));
  }

  @Test
  void fields_ofANodesShare_showTheSharesCapacity() {
    TokenBucketLimit whole = new TokenBucketLimit(100, 100, 60_000_000);
    List<LimitStatus> limits =
        List.of(
            new LimitStatus(
                policy("burst", whole, PolicyMode.ENFORCE),
                new TokenBucketLimit(25, 100, 240_000_000),
                null,
                new BucketReply(true, 24, 2_400_000, 0, 1, 0, 1, true)));

    assertEquals("\"burst\";q=25;w=60", RateLimitFields.policy(limits));
    assertEquals("\"burst\";r=24;t=3", RateLimitFields.state(limits, null));
  }

  private static long ceilSeconds(long micros) {
    return (micros + 999_999) / 1_000_000;
  }

  private static LimitStatus limit(
      String name, PolicyMode mode, long capacity, long remaining, long resetMicros) {
    TokenBucketLimit bucket = new TokenBucketLimit(capacity, 100, 60_000_000);
    return new LimitStatus(
        policy(name, bucket, mode),
        bucket,
        null,
        new BucketReply(true, remaining, resetMicros, 0, 1, 0, 1, true));
  }

  private static Policy policy(String name, PolicyLimit limit, PolicyMode mode) {
    return new Policy(
        name, PolicyMatch.ANY, List.of(KeyPart.CLIENT), limit, mode, CacheFailureMode.OPEN);
  }
}
