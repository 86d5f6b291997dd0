// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static io.weir.ingest.policy.PolicyYaml.assertHolds;
import static io.weir.ingest.policy.PolicyYaml.invalid;
import static io.weir.ingest.policy.PolicyYaml.valid;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.FixedWindow;
import io.weir.limits.LeakyBucket;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.ColdCacheMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class LimitReaderTest {
  @Test
  void parse_leakyBucket_isItsMirror_andMayBeAQueue() {
    PolicySet set =
        valid(
            """
            policies:
              - name: meter
                limit: {algorithm: leaky-bucket, capacity: 20, leak_tokens: 10, leak_period: PT1S}
                lease: {tokens: 2}
              - name: queue
                limit: {algorithm: leaky-bucket, capacity: 20, leak_tokens: 10, leak_period: PT1S, queue: true}
            """);
    TokenBucketLimit mirror = new TokenBucketLimit(20, 10, 1_000_000);

    assertEquals(new LeakyBucket(mirror, false), set.policies().get(0).limit());
    assertEquals(new LeakyBucket(mirror, true), set.policies().get(1).limit());
    assertEquals(20, set.policies().get(1).debtCapTokens());
  }

  @Test
  void parse_quota_everyField_isRead() {
    PolicySet set =
        valid(
            """
            policies:
              - name: billed
                limit:
                  algorithm: quota
                  limit: 10000
                  period: billing
                  time_zone: Europe/Paris
                  billing_anchor: 2026-01-17
                on_cache_failure: local
                on_cold_cache: hold
            clients:
              acme: {time_zone: America/New_York, billing_anchor: 2026-01-31}
              zoo: {time_zone: "+02:00"}
              42: {billing_anchor: 2026-03-01}
            """);

    assertEquals(
        new Policy(
                "billed",
                PolicyMatch.ANY,
                List.of(KeyPart.CLIENT),
                new CalendarQuota(
                    10_000,
                    CalendarPeriod.BILLING,
                    ZoneId.of("Europe/Paris"),
                    LocalDate.of(2026, 1, 17)),
                PolicyMode.ENFORCE,
                CacheFailureMode.LOCAL)
            .toBuilder().onColdCache(ColdCacheMode.HOLD).debtCapTokens(10_000).build(),
        set.policies().get(0));
    assertEquals(
        Map.of(
            "acme",
            ClientSettings.of(
                new ClientCalendar(ZoneId.of("America/New_York"), LocalDate.of(2026, 1, 31))),
            "zoo",
            ClientSettings.of(new ClientCalendar(ZoneId.of("+02:00"), null)),
            "42",
            ClientSettings.of(new ClientCalendar(null, LocalDate.of(2026, 3, 1)))),
        set.clients().settings());
  }

  @Test
  void parse_fixedWindow_isRead() {
    PolicySet set =
        valid(
            """
            policies:
              - name: minute
                limit: {algorithm: fixed-window, limit: 50, window: PT1M}
              - name: shift
                limit: {algorithm: fixed-window, limit: 9, window: PT8H, align: calendar, time_zone: Europe/Paris}
                on_cold_cache: hold
            """);

    assertEquals(
        new FixedWindow(50, 60, FixedWindow.Alignment.EPOCH, ZoneId.of("UTC")),
        set.policies().get(0).limit());
    assertEquals(
        new FixedWindow(9, 28_800, FixedWindow.Alignment.CALENDAR, ZoneId.of("Europe/Paris")),
        set.policies().get(1).limit());
    assertEquals(ColdCacheMode.HOLD, set.policies().get(1).onColdCache());
  }

  @Test
  void parse_slidingWindow_isRead() {
    PolicySet set =
        valid(
            """
            policies:
              - name: minute
                limit: {algorithm: sliding-window, limit: 50, window: PT1M}
              - name: finer
                limit: {algorithm: sliding-window, limit: 50, window: PT1M, sub_windows: 4}
                on_cold_cache: hold
            """);

    assertEquals(new SlidingWindow(50, 60, 1), set.policies().get(0).limit());
    assertEquals(new SlidingWindow(50, 60, 4), set.policies().get(1).limit());
  }

  @Test
  void parse_slidingWindow_everyProblem_isNamedWithItsPlace() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: sliding-window, limit: 0, window: PT1M, sub_windows: 61, align: epoch}
              - name: b
                limit: {algorithm: sliding-window, limit: 5, window: PT1M, sub_windows: 7}
              - name: c
                limit: {algorithm: sliding-window, limit: 5, window: PT0.5S}
              - name: d
                limit: {algorithm: sliding-window, limit: 5}
              - name: e
                limit: {algorithm: sliding-window, limit: 9007199254740991, window: PT1M}
              - name: f
                limit: {algorithm: sliding-window, limit: 5, window: PT1M}
                lease: {tokens: 2}
              - name: g
                limit: {algorithm: sliding-window, limit: 5, window: PT1M}
                debt_cap: 7
            """);

    assertHolds(problems, "policies[0].limit.limit must be");
    assertHolds(problems, "policies[0].limit.sub_windows must be");
    assertHolds(problems, "policies[0].limit.align is not known");
    assertHolds(
        problems, "policies[1].limit.window must be whole seconds in each of the 7 sub_windows");
    assertHolds(problems, "policies[2].limit.window must be whole seconds, but is");
    assertHolds(problems, "policies[3].limit.window must be an ISO 8601 duration");
    assertHolds(problems, "policies[4].limit: limit 9007199254740991 with sub-windows");
    assertHolds(problems, "policies[5].lease");
    assertHolds(problems, "policies[6].debt_cap requires a token bucket");
  }

  @Test
  void parse_resetJitter_isOfWindowsFromTheEpoch_atMostTheirLength() {
    PolicySet set =
        valid(
            """
            policies:
              - name: minute
                limit: {algorithm: fixed-window, limit: 50, window: PT1M, reset_jitter: PT1M}
              - name: sliding
                limit: {algorithm: sliding-window, limit: 50, window: PT1M, sub_windows: 4, reset_jitter: PT15S}
            """);
    assertEquals(
        new FixedWindow(50, 60, FixedWindow.Alignment.EPOCH, ZoneId.of("UTC"), 60),
        set.policies().get(0).limit());
    assertEquals(new SlidingWindow(50, 60, 4, 15), set.policies().get(1).limit());

    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: fixed-window, limit: 5, window: PT1M, reset_jitter: PT61S}
              - name: b
                limit: {algorithm: sliding-window, limit: 5, window: PT1M, sub_windows: 4, reset_jitter: PT16S}
              - name: c
                limit: {algorithm: fixed-window, limit: 5, window: PT1M, reset_jitter: PT0.5S}
              - name: d
                limit: {algorithm: fixed-window, limit: 5, window: PT1H, align: calendar, reset_jitter: PT5S}
              - name: e
                limit: {algorithm: fixed-window, limit: 5, window: PT1M, reset_jitter: 5}
              - name: f
                limit: {algorithm: quota, limit: 5, period: day, reset_jitter: PT5S}
            """);
    assertHolds(
        problems, "policies[0].limit.reset_jitter must be whole seconds, at most the window");
    assertHolds(
        problems, "policies[1].limit.reset_jitter must be whole seconds, at most the sub-window");
    assertHolds(problems, "policies[2].limit.reset_jitter must be whole seconds");
    assertHolds(problems, "policies[3].limit.reset_jitter requires align: epoch");
    assertHolds(problems, "policies[4].limit.reset_jitter must be an ISO 8601 duration");
    assertHolds(problems, "policies[5].limit.reset_jitter is not known");
  }

  @Test
  void parse_slidingLog_isRead_andWhatItCannotHave_isNamed() {
    PolicySet set =
        valid(
            """
            policies:
              - name: exact
                limit: {algorithm: sliding-log, limit: 10000, window: PT0.5S}
            """);
    assertEquals(new SlidingLog(10_000, 500_000), set.policies().get(0).limit());
    assertFalse(set.policies().get(0).isRecorded());

    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: sliding-log, limit: 10001, window: PT1M}
              - name: b
                limit: {algorithm: sliding-log, limit: 0}
              - name: c
                limit: {algorithm: sliding-log, limit: 5, window: PT1M}
                on_cold_cache: hold
                debt_cap: 7
                lease: {tokens: 2}
            """);
    assertHolds(problems, "policies[0].limit.limit must be at most 10000 in a sliding log");
    assertHolds(problems, "policies[1].limit.limit must be an integer from 1 to 10000");
    assertHolds(problems, "policies[1].limit.window must be an ISO 8601 duration");
    assertHolds(
        problems,
        "policies[2].on_cold_cache: hold requires a quota or window; sliding logs are not recorded");
    assertHolds(problems, "policies[2].debt_cap requires a token bucket");
    assertHolds(problems, "policies[2].lease");
  }

  @Test
  void parse_concurrency_isRead_andWhatNeedsRecordsIsRefused() {
    PolicySet set =
        valid(
            """
            policies:
              - name: reports
                limit: {algorithm: concurrency, limit: 10000, lease: PT0.1S}
              - name: exports
                key: []
                limit: {algorithm: concurrency, limit: 1, lease: PT24H}
            clients:
              acme:
                limits:
                  reports: {algorithm: concurrency, limit: 3, lease: PT1M}
            """);
    assertEquals(new ConcurrencyLimit(10_000, 100_000), set.policies().get(0).limit());
    assertFalse(set.policies().get(0).isRecorded());
    assertEquals(new ConcurrencyLimit(1, 86_400_000_000L), set.policies().get(1).limit());
    ClientSettings acme = set.clients().settings().get("acme");
    assertEquals(
        Map.of("reports", new ConcurrencyLimit(3, 60_000_000)),
        Objects.requireNonNull(acme).limits());

    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: concurrency, limit: 10001, lease: PT1M, window: PT1M}
              - name: b
                limit: {algorithm: concurrency, limit: 0}
              - name: c
                limit: {algorithm: concurrency, limit: 5, lease: PT0.09S}
              - name: d
                limit: {algorithm: concurrency, limit: 5, lease: PT24H0.000001S}
              - name: e
                limit: {algorithm: concurrency, limit: 5, lease: PT30S}
                on_cold_cache: hold
                debt_cap: 7
                lease: {tokens: 2}
            """);
    assertHolds(problems, "policies[0].limit.limit must be an integer from 1 to 10000");
    assertHolds(problems, "policies[0].limit.window");
    assertHolds(problems, "policies[1].limit.limit must be an integer from 1 to 10000");
    assertHolds(problems, "policies[1].limit.lease must be an ISO 8601 duration");
    assertHolds(problems, "policies[2].limit.lease must be PT0.1S to PT24H, but is 'PT0.09S'");
    assertHolds(problems, "policies[3].limit.lease must be PT0.1S to PT24H");
    assertHolds(problems, "policies[4].on_cold_cache: hold requires a quota or window; slots are");
    assertHolds(problems, "policies[4].debt_cap requires a token bucket");
    assertHolds(problems, "policies[4].lease requires a token bucket");
  }

  @Test
  void parse_fixedWindow_everyProblem_isNamedWithItsPlace() {
    List<String> problems =
        invalid(
            """
            policies:
              - name: a
                limit: {algorithm: fixed-window, limit: 0, window: PT1.5S, align: moon, time_zone: UTC}
              - name: b
                limit: {algorithm: fixed-window, limit: 5, window: PT25H, align: calendar}
              - name: c
                limit: {algorithm: fixed-window, limit: 5, window: PT1M, time_zone: Europe/Paris, capacity: 7}
              - name: d
                limit: {algorithm: fixed-window, limit: 5}
              - name: e
                limit: {algorithm: fixed-window, limit: 5, window: PT1M}
                debt_cap: 7
            """);

    assertHolds(problems, "policies[0].limit.limit must be");
    assertHolds(problems, "policies[0].limit.window must be whole seconds");
    assertHolds(problems, "policies[0].limit.align must be");
    assertHolds(problems, "policies[1].limit.window must be at most PT24H with align: calendar");
    assertHolds(problems, "policies[2].limit.time_zone requires align: calendar");
    assertHolds(problems, "policies[2].limit.capacity is not known here");
    assertHolds(problems, "policies[3].limit.window must be an ISO 8601 duration");
    assertHolds(problems, "policies[4].debt_cap requires a token bucket");
    assertEquals(8, problems.size(), problems::toString);
  }

  @Test
  void parse_quota_requiredFieldsOnly_takesTheDefaults() {
    Policy policy =
        valid("policies:\n  - name: a\n    limit: {algorithm: quota, limit: 7, period: month}")
            .policies()
            .get(0);

    assertEquals(
        new CalendarQuota(7, CalendarPeriod.MONTH, ZoneId.of("UTC"), CalendarQuota.FIRST_OF_MONTH),
        policy.limit());
    assertEquals(ColdCacheMode.ALLOW, policy.onColdCache());
    assertEquals(7, policy.debtCapTokens());
  }
}
