// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsageWindow;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class EventFormatTest {
  private static final long AT = Instant.parse("2026-11-21T14:03:07.123Z").toEpochMilli();
  private static final TokenBucketLimit BURST = new TokenBucketLimit(100, 100, 60_000_000);
  private static final String KEY = BucketKey.of("burst", "acme").text();

  @Test
  void remaining_ofACharge_isThatOfTheResponse() {
    // decided within the millisecond, at .123456, with 99 left: full again 600 ms later
    long fullAt = AT * 1_000 + 456 + 600_000;

    assertEquals(99, remaining(1, true, 1, BURST, new Stamp(1, 0, 1, fullAt)));
  }

  @Test
  void remaining_ofARefusal_isBelowTheCost() {
    long fullAt = AT * 1_000 + 456 + 99 * 600_000 + 1;

    assertEquals(0, remaining(1, false, 0, BURST, new Stamp(1, 0, 100, fullAt)));
    assertEquals(0, remaining(1, false, 0, BURST, new Stamp(1, 0, 100, AT * 1_000 + 99 * 600_000)));
  }

  @Test
  void remaining_ofAQuota_isKnownBeforeItsFirstCorrectionOnly() {
    QuotaLimit quota = new QuotaLimit(1_000, AT * 1_000 + 1);

    assertEquals(930, remaining(1, true, 1, quota, new Stamp(1, 0, 70, AT * 1_000 + 1)));
    assertNull(remaining(1, true, 1, quota, new Stamp(1, 1, 70, AT * 1_000 + 1)));
  }

  @Test
  void remaining_withoutStampOrLimit_isNotKnown() {
    assertNull(remaining(1, true, 1, BURST, null));
    assertNull(remaining(1, true, 1, null, new Stamp(1, 0, 1, 0)));
    assertNull(remaining(1, true, 1, BURST, new Stamp(1, 0, 1, 0)));
  }

  @Test
  void remaining_ofAnyDecision_isTheWholeTokensLeft() {
    for (long seed = 0; seed < 2_000; seed++) {
      Random random = new Random(seed);
      TokenBucketLimit limit =
          new TokenBucketLimit(1 + random.nextInt(1_000), 1, 1_000L * (1 + random.nextInt(5_000)));
      long left = random.nextInt((int) limit.capacityTokens());
      long atMicros = AT * 1_000 + random.nextInt(1_000);
      long fullAt = atMicros + (limit.capacityTokens() - left) * limit.refillPeriodMicros();

      assertEquals(left, remaining(1, true, 1, limit, new Stamp(1, 0, 1, fullAt)), "seed " + seed);
    }
  }

  @Test
  void decision_ofARefusal_tellsEverything() {
    long fullAt = AT * 1_000 + 60_000_000;
    CallEvent call = call(3, false, new Charge(KEY, 0, BURST, new Stamp(77, 2, 100, fullAt)));

    Map<String, Object> members = EventFormat.decision(call);

    assertEquals("2026-11-21T14:03:07.123Z", members.get("decided_at"));
    assertEquals(false, members.get("allowed"));
    assertEquals("cache", members.get("decided_by"));
    assertEquals("burst", members.get("policy"));
    Map<?, ?> limit = (Map<?, ?>) ((List<?>) members.getOrDefault("limits", "")).get(0);
    assertEquals("burst", limit.get("policy"));
    assertEquals(100L, limit.get("limit"));
    assertEquals("PT1M", limit.get("refill_period"));
    assertEquals(0L, limit.get("charged_cost"));
    assertEquals(0L, limit.get("remaining"));
    assertEquals(77L, limit.get("epoch"));
    assertEquals(2L, limit.get("version"));
    assertEquals("2026-11-21T14:04:07.123Z", limit.get("full_at"));
  }

  /** Regression: members were in hash order, and times had microseconds. */
  @Test
  void times_areInOrder_andToTheMillisecond() {
    assertEquals(
        List.of("from", "to"), List.copyOf(EventFormat.window(new UsageWindow(0, 1)).keySet()));
    Stamp stamp = new Stamp(77, 2, 100, AT * 1_000 + 1);
    CallEvent call = call(3, false, new Charge(KEY, 0, BURST, stamp));

    Map<?, ?> limit =
        (Map<?, ?>) ((List<?>) EventFormat.decision(call).getOrDefault("limits", List.of())).get(0);

    assertEquals("2026-11-21T14:03:07.124Z", limit.get("full_at"));
  }

  private static @Nullable Long remaining(
      long callCost,
      boolean allowed,
      long cost,
      @Nullable BucketLimit limit,
      @Nullable Stamp stamp) {
    Charge charge = new Charge(KEY, cost, limit, stamp);
    return EventFormat.remaining(call(callCost, allowed, charge), charge);
  }

  private static CallEvent call(long cost, boolean allowed, Charge charge) {
    return new CallEvent(
        "id",
        false,
        "acme",
        "GET /items",
        "calls",
        cost,
        allowed,
        DecidedBy.CACHE,
        "burst",
        1,
        AT,
        null,
        List.of(charge));
  }
}
