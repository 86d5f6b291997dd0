// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.aggregator.audit.bucket.BucketSnapshot;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class CurrentReportsTest {
  private static final Instant NOW = Instant.parse("2026-11-21T14:00:00Z");
  private static final long NOW_MICROS = NOW.toEpochMilli() * 1_000;
  private static final TokenBucketLimit BURST = new TokenBucketLimit(100, 100, 60_000_000);
  private static final String KEY = BucketKey.of("burst", "acme").text();

  private LiveCache cache = LiveCache.NOT_ASKED;

  @Test
  void tokenBucket_apartFromTheCache_showsBothLevels() {
    cache = buckets -> Map.of(KEY, held(90, 40));
    Map<String, Object> bucket = only(snapshot(BURST, 2, 1, 40, 90, 6_000_000, 24_000_000));

    assertEquals("burst", bucket.get("policy"));
    assertEquals(KEY, bucket.get("bucket"));
    assertEquals("token-bucket", bucket.get("algorithm"));
    assertEquals(100L, bucket.get("limit"));
    assertEquals(60L, bucket.get("exact_remaining"));
    assertEquals(60L, bucket.get("remaining"));
    assertEquals(40L, bucket.get("used"));
    assertEquals(90L, bucket.get("stamped_remaining"));
    assertEquals(90L, bucket.get("cache_remaining"));
    assertEquals("2026-11-21T14:00:24Z", bucket.get("resets_at"));
    assertEquals(30L, bucket.get("drift"));
    assertEquals(2L, bucket.get("version"));
    assertEquals(1L, bucket.get("confirmed"));
  }

  @Test
  void tokenBucket_inDebt_hasNothingRemaining() {
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 1, 1, 0, 66_000_000));

    assertEquals(-10L, bucket.get("exact_remaining"));
    assertEquals(0L, bucket.get("remaining"));
    assertEquals(110L, bucket.get("used"));
  }

  /** Regression: {@code used} was 70747 of a limit of 50 (issue 37, A2). */
  @Test
  void tokenBucket_clockSteppedBackByHours_showsTheLevelOfTheNewestRecord() {
    long hours = 7_200_000_000L;
    BucketSnapshot ahead =
        new BucketSnapshot(
            KEY,
            BURST,
            1,
            0,
            0,
            100,
            0,
            100,
            NOW_MICROS + hours + 60_000_000,
            NOW_MICROS + hours + 60_000_000,
            (NOW_MICROS + hours) / 1_000,
            NOW_MICROS + hours);

    Map<String, Object> bucket = only(ahead);

    assertEquals(100L, bucket.get("used"));
    assertEquals(0L, bucket.get("exact_remaining"));
    assertEquals(0L, bucket.get("stamped_remaining"));
    assertEquals("2026-11-21T14:01:00Z", bucket.get("resets_at"));
  }

  @Test
  void time_isRoundedUpToTheMillisecond() {
    assertEquals("1970-01-01T00:00:00.001Z", CurrentReports.time(1));
    assertEquals("1970-01-01T00:00:00.001Z", CurrentReports.time(1_000));
    assertEquals("1970-01-01T00:00:00.002Z", CurrentReports.time(1_001));
  }

  @Test
  void tokenBucket_fullAgain_resetsNow() {
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 1, 1, -5_000_000, -5_000_000));

    assertEquals(100L, bucket.get("remaining"));
    assertEquals(NOW.toString(), bucket.get("resets_at"));
  }

  /** Regression: one foreign key in a record made every report of its client fail. */
  @Test
  void bucketWhoseKeyIsForeign_isShownWithoutAPolicy() {
    BucketSnapshot foreign =
        new BucketSnapshot(
            "w1:{4:acme}:5:burst:x", BURST, 1, 0, 0, 1, 0, 1, NOW_MICROS, NOW_MICROS, 0, 0);

    Map<String, Object> bucket = only(foreign);

    assertNull(bucket.get("policy"));
    assertEquals("w1:{4:acme}:5:burst:x", bucket.get("bucket"));
  }

  @Test
  void quota_beforeAnyCorrection_showsTheCachesCounter() {
    Map<String, Object> bucket = only(snapshot(quota(3_600), 0, 0, 70, 75, 0, 0));

    assertEquals("quota", bucket.get("algorithm"));
    assertEquals(925L, bucket.get("remaining"));
    assertEquals(75L, bucket.get("used"));
    assertEquals(930L, bucket.get("stamped_remaining"));
    assertEquals("2026-11-21T15:00:00Z", bucket.get("resets_at"));
  }

  @Test
  void quota_newestCorrectionConfirmed_showsTheStampedRemaining() {
    assertEquals(925L, only(snapshot(quota(3_600), 3, 3, 70, 75, 0, 0)).get("stamped_remaining"));
  }

  @Test
  void quota_newestCorrectionUnconfirmed_hasNoStampedRemaining() {
    Map<String, Object> bucket = only(snapshot(quota(3_600), 3, 2, 70, 75, 0, 0));

    assertNull(bucket.get("stamped_remaining"));
  }

  @Test
  void cacheDoesNotAnswer_cacheRemainingAndDriftAreAbsent() {
    Map<String, Object> bucket = only(snapshot(BURST, 2, 1, 40, 90, 6_000_000, 24_000_000));

    assertNull(bucket.get("cache_remaining"));
    assertNull(bucket.get("drift"));
    assertEquals(90L, bucket.get("stamped_remaining"));
  }

  @Test
  void cacheFlushed_showsItsDrift_whateverTheLastStampSays() {
    cache =
        buckets ->
            Map.of(
                KEY,
                new LiveCache.Held(
                    buckets.getOrDefault(KEY, BURST).capacityTokens(), NOW_MICROS, 0, 0));
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 40, 40, 24_000_000, 24_000_000));

    assertEquals(60L, bucket.get("stamped_remaining"));
    assertEquals(100L, bucket.get("cache_remaining"));
    assertEquals(40L, bucket.get("drift"));
  }

  @Test
  void chargesInFlight_areNotDrift() {
    cache = buckets -> Map.of(KEY, held(57, 43));
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 40, 40, 24_000_000, 24_000_000));

    assertEquals(60L, bucket.get("exact_remaining"));
    assertEquals(57L, bucket.get("cache_remaining"));
    assertEquals(3L, bucket.get("on_the_way"));
    assertEquals(0L, bucket.get("drift"));
  }

  @Test
  void quota_chargesShownByAStampOnly_areNotDrift() {
    cache = buckets -> Map.of(KEY, held(927, 73));
    Map<String, Object> bucket = only(snapshot(quota(3_600), 0, 0, 70, 15, 55, 0, 0));

    assertEquals(945L, bucket.get("exact_remaining"));
    assertEquals(18L, bucket.get("on_the_way"));
    assertEquals(0L, bucket.get("drift"));
  }

  @Test
  void tokenBucket_chargesAlreadyInItsLevel_areCountedOnce() {
    cache = buckets -> Map.of(KEY, held(57, 43));
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 40, 15, 25, 24_000_000, 24_000_000));

    assertEquals(60L, bucket.get("exact_remaining"));
    assertEquals(18L, bucket.get("on_the_way"));
    assertEquals(0L, bucket.get("drift"));
  }

  @Test
  void epochWithoutAnyRecord_isInFlight_andTheLossBeforeItIsDrift() {
    cache = buckets -> Map.of(KEY, new LiveCache.Held(95, NOW_MICROS, 2, 5));
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 40, 40, 24_000_000, 24_000_000));

    assertEquals(5L, bucket.get("on_the_way"));
    assertEquals(40L, bucket.get("drift"));
  }

  @Test
  void clockDifferentFromTheCaches_isNotDrift() {
    long aheadMicros = 3_000_000;
    cache = buckets -> Map.of(KEY, new LiveCache.Held(65, NOW_MICROS + aheadMicros, 1, 40));
    Map<String, Object> bucket = only(snapshot(BURST, 0, 0, 40, 40, 24_000_000, 24_000_000));

    assertEquals(65L, bucket.get("exact_remaining"));
    assertEquals(0L, bucket.get("drift"));
  }

  @Test
  void quotaInDebt_hasNoKnownDrift() {
    cache = buckets -> Map.of(KEY, held(0, 1_010));
    Map<String, Object> bucket = only(snapshot(quota(3_600), 0, 0, 1_010, 1_020, 0, 0));

    assertEquals(-20L, bucket.get("exact_remaining"));
    assertEquals(0L, bucket.get("cache_remaining"));
    assertNull(bucket.get("drift"));
  }

  @Test
  void quota_whosePeriodIsOver_isLeftOut() {
    assertEquals(List.of(), buckets(List.of(snapshot(quota(0), 0, 0, 1, 1, 0, 0))));
  }

  @Test
  void buckets_aboveTheBound_areCutAndReportedAsMore() {
    BucketSnapshot one = snapshot(BURST, 0, 0, 1, 1, 0, 0);
    List<BucketSnapshot> many = Collections.nCopies(CurrentReports.MAX_BUCKETS + 1, one);

    Map<String, Object> document = CurrentReports.document("acme", many, cache, NOW);
    assertEquals(true, document.get("has_more"));
    assertEquals(CurrentReports.MAX_BUCKETS, buckets(many).size());
    assertEquals(
        false,
        CurrentReports.document("acme", many.subList(1, many.size()), cache, NOW).get("has_more"));
  }

  private static LiveCache.Held held(long remaining, long charged) {
    return new LiveCache.Held(remaining, NOW_MICROS, 1, charged);
  }

  private static QuotaLimit quota(long secondsLeft) {
    return new QuotaLimit(1_000, NOW_MICROS + secondsLeft * 1_000_000);
  }

  private static BucketSnapshot snapshot(
      BucketLimit limit,
      long version,
      long confirmed,
      long charged,
      long total,
      long cacheFullInMicros,
      long trueFullInMicros) {
    return snapshot(
        limit, version, confirmed, charged, 0, total, cacheFullInMicros, trueFullInMicros);
  }

  private static BucketSnapshot snapshot(
      BucketLimit limit,
      long version,
      long confirmed,
      long charged,
      long pending,
      long total,
      long cacheFullInMicros,
      long trueFullInMicros) {
    return new BucketSnapshot(
        KEY,
        limit,
        1,
        version,
        confirmed,
        charged,
        pending,
        total,
        NOW_MICROS + cacheFullInMicros,
        NOW_MICROS + trueFullInMicros,
        NOW.toEpochMilli() - 10,
        NOW_MICROS - 10_000);
  }

  private static Map<?, ?> bucketOf(Object bucket) {
    return (Map<?, ?>) bucket;
  }

  private Map<String, Object> only(BucketSnapshot snapshot) {
    Map<String, Object> members = new HashMap<>();
    bucketOf(buckets(List.of(snapshot)).get(0))
        .forEach((name, value) -> members.put((String) name, value));
    return members;
  }

  private List<?> buckets(List<BucketSnapshot> snapshots) {
    return (List<?>)
        CurrentReports.document("acme", snapshots, cache, NOW).getOrDefault("buckets", "");
  }
}
