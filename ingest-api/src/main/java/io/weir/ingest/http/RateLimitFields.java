// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The {@code RateLimit-Policy} and {@code RateLimit} fields of
 * draft-ietf-httpapi-ratelimit-headers-11, written as lists of structured fields (RFC 9651): {@code
 * "burst";q=100;w=60} and {@code "burst";r=99;t=1}.
 *
 * <p>For a token bucket, the quota {@code q} is the capacity. The window {@code w} is the time in
 * which an empty bucket becomes full. {@code w} is rounded up to whole seconds, at least 1. The
 * remaining tokens {@code r} never exceed {@code q}. {@code t} is the time until the bucket gains
 * one token, 0 for a full bucket. For a quota or a fixed window, {@code w} is the length of the
 * current period. {@code t} is the time until the end of the period. For a sliding window or log,
 * {@code w} is the length of the window, and {@code t} is the time until no earlier call counts.
 * {@code t} never exceeds the {@code Retry-After} of the response. A policy that denies every call
 * has no {@code t}.
 */
final class RateLimitFields {
  private static final long MICROS_PER_SECOND = 1_000_000;

  /** Largest integer of a structured field, with 15 digits (RFC 9651 §3.3.1). */
  private static final long MAX_INTEGER = 999_999_999_999_999L;

  private RateLimitFields() {}

  static String policy(List<LimitStatus> limits) {
    StringBuilder field = new StringBuilder(32 * limits.size());
    for (LimitStatus limit : limits) {
      if (limit.enforced()) {
        item(field, limit.policy().name());
        parameter(field, 'q', limit.limit().capacityTokens());
        long windowMicros = limit.limit().windowMicros(limit.period());
        parameter(field, 'w', Math.max(1, ceilSeconds(windowMicros)));
      }
    }
    return field.toString();
  }

  /**
   * Returns the {@code RateLimit} field.
   *
   * @param denial the denial of the call; null if the call is allowed
   */
  static String state(List<LimitStatus> limits, CheckOutcome.@Nullable Denial denial) {
    long latest =
        denial == null || denial.costExceedsCapacity()
            ? Long.MAX_VALUE
            : retryAfterSeconds(denial.retryAfterMicros());
    StringBuilder field = new StringBuilder(32 * limits.size());
    for (LimitStatus limit : limits) {
      if (limit.enforced()) {
        item(field, limit.policy().name());
        parameter(field, 'r', limit.remainingTokens());
        if (limit.limit().capacityTokens() > 0) {
          parameter(field, 't', Math.min(latest, moreSeconds(limit)));
        }
      }
    }
    return field.toString();
  }

  /**
   * Returns the seconds until a retry, at least 1. The value is rounded up; otherwise the retry
   * would be too early.
   */
  static long retryAfterSeconds(long retryAfterMicros) {
    return Math.max(1, ceilSeconds(retryAfterMicros));
  }

  /** Returns the seconds until the limit gains a token, rounded up. */
  static long moreSeconds(LimitStatus limit) {
    return ceilSeconds(
        limit
            .limit()
            .arithmetic()
            .moreMicros(limit.remainingTokens(), limit.reply().resetMicros()));
  }

  /** Returns the value, but at most the largest integer of a structured field. */
  static long integer(long value) {
    return Math.min(value, MAX_INTEGER);
  }

  private static long ceilSeconds(long micros) {
    return micros / MICROS_PER_SECOND + (micros % MICROS_PER_SECOND == 0 ? 0 : 1);
  }

  private static void parameter(StringBuilder field, char name, long value) {
    field.append(';').append(name).append('=').append(integer(value));
  }

  /**
   * Appends a list member as a string. Strings of structured fields contain only printable ASCII;
   * other characters are percent-encoded.
   */
  private static void item(StringBuilder field, String name) {
    if (field.length() > 0) {
      field.append(", ");
    }
    field.append('"');
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '"' || c == '\\') {
        field.append('\\').append(c);
      } else if (c < 0x7f) {
        field.append(c);
      } else {
        int end = Character.isHighSurrogate(c) ? i + 2 : i + 1;
        for (byte b : name.substring(i, end).getBytes(StandardCharsets.UTF_8)) {
          field.append(String.format(Locale.ROOT, "%%%02X", b & 0xff));
        }
        i = end - 1;
      }
    }
    field.append('"');
  }
}
