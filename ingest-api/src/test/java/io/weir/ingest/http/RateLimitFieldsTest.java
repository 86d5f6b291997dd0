// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.decision.BucketReply;
import io.weir.ingest.gate.LimitStatus;
import io.weir.topics.model.CalendarPeriod;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.ClientCalendar;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyLimit;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
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
            limit("daily", PolicyMode.ENFORCE, 1_000, 12, 7_000_001));

    assertEquals("\"burst\";q=100;w=60, \"daily\";q=1000;w=600", RateLimitFields.policy(limits));
    assertEquals("\"burst\";r=99;t=1, \"daily\";r=12;t=8", RateLimitFields.state(limits));
  }

  @Test
  void fields_ofShadowPolicies_areLeftOut() {
    List<LimitStatus> limits = List.of(limit("later", PolicyMode.SHADOW, 5, 0, 1));

    assertEquals("", RateLimitFields.policy(limits));
    assertEquals("", RateLimitFields.state(limits));
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
  void fields_ofAQuota_tellItsPeriodAndItsEnd() {
    CalendarQuota monthly =
        new CalendarQuota(
            10_000, CalendarPeriod.MONTH, ZoneId.of("Europe/Paris"), CalendarQuota.FIRST_OF_MONTH);
    long now = Instant.parse("2026-03-31T21:00:00Z").toEpochMilli();
    CalendarQuota.Span march = monthly.at(now, ClientCalendar.OF_POLICY);
    long endMicros = march.endEpochSecond() * 1_000_000;
    List<LimitStatus> limits =
        List.of(
            new LimitStatus(
                policy("monthly", monthly, PolicyMode.ENFORCE),
                new QuotaLimit(10_000, endMicros),
                march,
                new BucketReply(true, 17, endMicros - now * 1_000, 0, 1, 0, 9_983, true)));

    assertEquals("\"monthly\";q=10000;w=" + (31 * 86_400 - 3_600), RateLimitFields.policy(limits));
    assertEquals("\"monthly\";r=17;t=3600", RateLimitFields.state(limits));
  }

  @Test
  void fields_ofABucketInDebt_showNothingLeft() {
    assertEquals(
        "\"burst\";r=0;t=90",
        RateLimitFields.state(List.of(limit("burst", PolicyMode.ENFORCE, 100, -50, 90_000_000))));
  }

  @Test
  void fields_ofAShare_areTheShares() {
    TokenBucketLimit whole = new TokenBucketLimit(100, 100, 60_000_000);
    List<LimitStatus> limits =
        List.of(
            new LimitStatus(
                policy("burst", whole, PolicyMode.ENFORCE),
                new TokenBucketLimit(25, 100, 240_000_000),
                null,
                new BucketReply(true, 24, 2_400_000, 0, 1, 0, 1, true)));

    assertEquals("\"burst\";q=25;w=60", RateLimitFields.policy(limits));
    assertEquals("\"burst\";r=24;t=3", RateLimitFields.state(limits));
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
        name, PolicyMatch.ANY, List.of(KeyPart.CLIENT), limit, mode, FailureMode.OPEN);
  }
}
