// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.http.LimitHeaders.Form;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.settings.Settings;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.LongUnaryOperator;
import org.eclipse.jetty.http.HttpFields;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class VerdictFieldsTest {
  private static final long NOW_MILLIS = 1_795_000_000_001L;

  @Test
  void allowed_legacySets_areOfThePolicyNearestToItsLimit() {
    HttpFields fields =
        written(
            Set.of(Form.DRAFT_11, Form.DRAFT_06, Form.X_EPOCH),
            Duration.ZERO,
            decided("tight", null, limit("wide", 100, 99, true), limit("tight", 10, 2, true)));

    assertEquals("\"wide\";q=100;w=60, \"tight\";q=10;w=60", fields.get("RateLimit-Policy"));
    assertEquals("10", fields.get("RateLimit-Limit"));
    assertEquals("2", fields.get("RateLimit-Remaining"));
    assertEquals("6", fields.get("RateLimit-Reset"));
    assertEquals("10", fields.get("X-RateLimit-Limit"));
    assertEquals("2", fields.get("X-RateLimit-Remaining"));
    assertEquals("1795000007", fields.get("X-RateLimit-Reset"));
    assertFalse(fields.contains("Retry-After"));
  }

  @Test
  void denied_resetIsRetryAfter() {
    CheckOutcome.Denial denial = new CheckOutcome.Denial(List.of("tight"), 6_000_001, false);
    HttpFields fields =
        written(
            Set.of(Form.X_DELTA, Form.DRAFT_06),
            Duration.ZERO,
            decided("tight", denial, limit("wide", 100, 99, true), limit("tight", 10, 0, false)));

    assertEquals("7", fields.get("Retry-After"));
    assertEquals("7", fields.get("X-RateLimit-Reset"));
    assertEquals("7", fields.get("RateLimit-Reset"));
    assertEquals("0", fields.get("X-RateLimit-Remaining"));
    assertFalse(fields.contains("RateLimit"));
  }

  @Test
  void retryAfter_isJitteredUpwardOnly() {
    Random random = new Random(31);
    for (int round = 0; round < 5_000; round++) {
      long wait = random.nextInt(10_000_000);
      Duration jitter = Duration.ofMillis(random.nextInt(5_000));
      CheckOutcome.Denial denial = new CheckOutcome.Denial(List.of("tight"), wait, false);
      HttpFields fields =
          written(
              Set.of(Form.DRAFT_11),
              jitter,
              decided("tight", denial, limit("tight", 10, 0, false)),
              max -> (long) (random.nextDouble() * max));

      long told = fields.getLongField("Retry-After");

      long least = Math.max(1, ceilSeconds(wait));
      long most = Math.max(1, ceilSeconds(wait + jitter.toMillis() * 1_000));
      assertTrue(told >= least && told <= most, () -> wait + " + " + jitter + ": " + told);
    }
  }

  @Test
  void retryAfter_withTheMostJitter_isItsSum() {
    CheckOutcome.Denial denial = new CheckOutcome.Denial(List.of("tight"), 1_500_000, false);

    assertEquals(
        "12",
        written(
                Set.of(Form.DRAFT_11),
                Duration.ofSeconds(10),
                decided("tight", denial, limit("tight", 10, 0, false)))
            .get("Retry-After"));
  }

  @Test
  void neverAllowed_hasNoRetryAfter_whateverTheJitter() {
    CheckOutcome.Denial denial = new CheckOutcome.Denial(List.of("tight"), -1, true);
    HttpFields fields =
        written(
            Set.of(Form.DRAFT_06),
            Duration.ofSeconds(10),
            decided("tight", denial, limit("tight", 10, 10, false)));

    assertFalse(fields.contains("Retry-After"));
    assertEquals("10", fields.get("RateLimit-Limit"));
    assertEquals("0", fields.get("RateLimit-Reset"));
  }

  @Test
  void shadowPolicies_writeNothing() {
    HttpFields fields =
        written(
            Set.of(Form.DRAFT_11, Form.DRAFT_06, Form.X_EPOCH),
            Duration.ZERO,
            decided("later", null, limit("later", PolicyMode.SHADOW, 10, 2, true)));

    assertEquals(0, fields.size());
  }

  @Test
  void settings_areReadAsAList_andContradictionsRefused() {
    assertEquals(LimitHeaders.DEFAULT, LimitHeaders.of(Settings.of(Map.of())));
    assertEquals(
        new LimitHeaders(Set.of(Form.DRAFT_11, Form.X_EPOCH), Duration.ofSeconds(3)),
        settings("draft-11, x-epoch", "PT3S"));
    assertEquals(
        "WEIR_LIMIT_HEADERS: x-epoch and x-delta use the same names; give one of them",
        assertThrows(
                Settings.InvalidSettingException.class, () -> settings("x-epoch,x-delta", "PT0S"))
            .getMessage());
    assertEquals(
        "WEIR_LIMIT_HEADERS must be some of draft-11, draft-06, x-epoch, x-delta, separated by"
            + " commas, but has 'x'",
        assertThrows(Settings.InvalidSettingException.class, () -> settings("x", "PT0S"))
            .getMessage());
    assertThrows(Settings.InvalidSettingException.class, () -> settings("draft-11", "PT2H"));
  }

  private static LimitHeaders settings(String forms, String jitter) {
    return LimitHeaders.of(
        Settings.of(Map.of("WEIR_LIMIT_HEADERS", forms, "WEIR_RETRY_AFTER_JITTER", jitter)));
  }

  private static HttpFields written(
      Set<Form> forms, Duration jitter, CheckOutcome.Decided decided) {
    return written(forms, jitter, decided, LongUnaryOperator.identity());
  }

  private static HttpFields written(
      Set<Form> forms, Duration jitter, CheckOutcome.Decided decided, LongUnaryOperator random) {
    HttpFields.Mutable fields = HttpFields.build();
    new VerdictFields(new LimitHeaders(forms, jitter), random).put(fields, decided);
    return fields;
  }

  private static CheckOutcome.Decided decided(
      String policy, CheckOutcome.@Nullable Denial denial, LimitStatus... limits) {
    CallEvent call =
        new CallEvent(
            "id",
            false,
            "acme",
            "GET /",
            "calls",
            1,
            denial == null,
            DecidedBy.CACHE,
            policy,
            1,
            NOW_MILLIS,
            null,
            List.of());
    return new CheckOutcome.Decided(call, List.of(limits), denial, null);
  }

  private static LimitStatus limit(String name, long capacity, long remaining, boolean sufficient) {
    return limit(name, PolicyMode.ENFORCE, capacity, remaining, sufficient);
  }

  private static LimitStatus limit(
      String name, PolicyMode mode, long capacity, long remaining, boolean sufficient) {
    TokenBucketLimit bucket = new TokenBucketLimit(capacity, capacity, 60_000_000);
    Policy policy =
        new Policy(
            name, PolicyMatch.ANY, List.of(KeyPart.CLIENT), bucket, mode, CacheFailureMode.OPEN);
    long resetMicros = (capacity - remaining) * (60_000_000 / capacity);
    return new LimitStatus(
        policy,
        bucket,
        null,
        new BucketReply(sufficient, remaining, resetMicros, 0, 1, 0, 1, true));
  }

  private static long ceilSeconds(long micros) {
    return (micros + 999_999) / 1_000_000;
  }
}
