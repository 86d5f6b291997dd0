// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.gate.Recorded;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;

/**
 * Writes the header fields of a verdict: the remaining limits, the retry time, and the position of
 * the call's record. Thread-safe.
 *
 * <p>A legacy set of fields reports only the policy that the call's record names. The record of a
 * denied call names the denying policy with the longest wait. The record of an allowed call names
 * the policy nearest to its limit. The reset of an allowed call is the time until the limit gains a
 * token, rounded up. The reset of a denied call is the time of {@code Retry-After}.
 */
final class VerdictFields {
  private static final String POSITION = "Usage-Position";
  private static final long MILLIS_PER_SECOND = 1_000;

  private final LimitHeaders headers;
  private final LongUnaryOperator random;
  private final long jitterMicros;

  /** Creates a writer with random jitter. */
  VerdictFields(LimitHeaders headers) {
    this(headers, max -> ThreadLocalRandom.current().nextLong(max + 1));
  }

  /**
   * Creates a writer.
   *
   * @param random returns the random delay to add in microseconds, from 0 to the function's
   *     argument
   */
  VerdictFields(LimitHeaders headers, LongUnaryOperator random) {
    this.headers = headers;
    this.random = random;
    this.jitterMicros = TimeUnit.NANOSECONDS.toMicros(headers.retryJitter().toNanos());
  }

  /** Writes the fields of a decided call. */
  void put(HttpFields.Mutable fields, CheckOutcome.Decided decided) {
    CheckOutcome.Denial denial = decided.denial();
    long retryAfter =
        denial == null || denial.costExceedsCapacity() ? 0 : retryAfterSeconds(denial);
    putLimits(fields, decided, retryAfter);
    if (retryAfter > 0) {
      fields.put(HttpHeader.RETRY_AFTER, retryAfter);
    } else if (CheckResponse.status(decided) == 503) {
      fields.put(HttpHeader.RETRY_AFTER, Exchange.RETRY_AFTER_UNAVAILABLE_SECONDS);
    }
    if (decided.recorded() instanceof Recorded.Durable durable) {
      fields.put(POSITION, durable.position().toString());
    }
  }

  /**
   * Returns the fields for a response of Envoy's rate limit service, by name in lower case. Omits
   * the position, because a request may have several calls.
   */
  Map<String, String> ofRateLimit(CheckOutcome.Decided decided) {
    HttpFields.Mutable fields = HttpFields.build();
    put(fields, decided);
    Map<String, String> byName = new LinkedHashMap<>();
    for (HttpField field : fields) {
      if (!field.getName().equals(POSITION)) {
        byName.put(field.getLowerCaseName(), String.valueOf(field.getValue()));
      }
    }
    return byName;
  }

  /** Returns the seconds until a retry: the wait of the denial plus the random delay. */
  private long retryAfterSeconds(CheckOutcome.Denial denial) {
    long jitter = jitterMicros == 0 ? 0 : random.applyAsLong(jitterMicros);
    long earliest = Math.min(denial.retryAfterMicros(), Long.MAX_VALUE - jitter);
    return RateLimitFields.retryAfterSeconds(earliest + jitter);
  }

  private void putLimits(HttpFields.Mutable fields, CheckOutcome.Decided decided, long retryAfter) {
    // the fields omit shadow policies, and an empty list is not a valid field (RFC 9651 §3.1)
    if (decided.limits().stream().noneMatch(LimitStatus::enforced)) {
      return;
    }
    for (LimitHeaders.Form form : headers.forms()) {
      if (form == LimitHeaders.Form.DRAFT_11) {
        fields.put("RateLimit-Policy", RateLimitFields.policy(decided.limits()));
        fields.put("RateLimit", RateLimitFields.state(decided.limits(), decided.denial()));
      } else {
        putLegacy(fields, form, decided, retryAfter);
      }
    }
  }

  private static void putLegacy(
      HttpFields.Mutable fields,
      LimitHeaders.Form form,
      CheckOutcome.Decided decided,
      long retryAfter) {
    LimitStatus limit = decided.recordedLimit();
    if (limit == null) {
      return;
    }
    fields.put(form.prefix() + "Limit", RateLimitFields.integer(limit.limit().capacityTokens()));
    fields.put(form.prefix() + "Remaining", RateLimitFields.integer(limit.remainingTokens()));
    if (limit.limit().capacityTokens() > 0) {
      long seconds = retryAfter > 0 ? retryAfter : RateLimitFields.moreSeconds(limit);
      long now = form.sinceEpoch() ? ceilSeconds(decided.call().decidedAtEpochMillis()) : 0;
      fields.put(form.prefix() + "Reset", RateLimitFields.integer(now + seconds));
    }
  }

  private static long ceilSeconds(long millis) {
    return Math.floorDiv(millis + MILLIS_PER_SECOND - 1, MILLIS_PER_SECOND);
  }
}
