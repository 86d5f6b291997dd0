// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.model.CalendarPeriod;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.PolicyLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeParseException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads a policy's {@code limit}: a token bucket, a quota, or none of either. */
final class LimitReader {
  private static final String TOKEN_BUCKET = "token-bucket";
  private static final String QUOTA = "quota";
  private static final String DENY = "deny";
  private static final long MAX_TOKENS = TokenBucketLimit.EXACT_BELOW - 1;

  /** Where days begin when neither policy nor client says. */
  private static final ZoneId UTC = ZoneId.of("UTC");

  private final FieldReader fields;

  LimitReader(FieldReader fields) {
    this.fields = fields;
  }

  /** The limit; null when it is wrong. */
  @Nullable PolicyLimit read(JsonNode node, String path) {
    if (!node.isObject()) {
      fields.problem(path + (node.isMissingNode() ? " is missing" : " must be a mapping"));
      return null;
    }
    String algorithm = node.path("algorithm").asText(TOKEN_BUCKET);
    return switch (algorithm) {
      case TOKEN_BUCKET -> tokenBucket(node, path);
      case QUOTA -> quota(node, path);
      case DENY -> {
        fields.refuseUnknown(node, path, Set.of("algorithm"));
        yield TokenBucketLimit.DENY;
      }
      default -> {
        fields.problem(
            path
                + ".algorithm must be "
                + TOKEN_BUCKET
                + ", "
                + QUOTA
                + " or "
                + DENY
                + ", is '"
                + algorithm
                + "'");
        yield null;
      }
    };
  }

  private @Nullable TokenBucketLimit tokenBucket(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "capacity", "refill_tokens", "refill_period"));
    long capacity = fields.integer(node, path, "capacity", 1, MAX_TOKENS);
    long refillTokens = fields.integer(node, path, "refill_tokens", 1, MAX_TOKENS);
    long periodMicros = periodMicros(node.path("refill_period"), path + ".refill_period");
    if (fields.count() > problemsBefore) {
      return null;
    }
    try {
      return new TokenBucketLimit(capacity, refillTokens, periodMicros);
    } catch (IllegalArgumentException notCountable) {
      fields.problem(path + ": " + notCountable.getMessage());
      return null;
    }
  }

  private @Nullable CalendarQuota quota(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "limit", "period", "time_zone", "billing_anchor"));
    long limit = fields.integer(node, path, "limit", 1, MAX_TOKENS);
    CalendarPeriod period = fields.choice(node, path, "period", CalendarPeriod.class, null);
    ZoneId zone = fields.timeZone(node, path, "time_zone");
    LocalDate anchor = fields.date(node, path, "billing_anchor");
    if (period != null && period != CalendarPeriod.BILLING && node.has("billing_anchor")) {
      fields.problem(path + ".billing_anchor is for period: billing");
    }
    return fields.count() > problemsBefore || period == null
        ? null
        : new CalendarQuota(
            limit,
            period,
            zone == null ? UTC : zone,
            anchor == null ? CalendarQuota.FIRST_OF_MONTH : anchor);
  }

  private long periodMicros(JsonNode node, String path) {
    if (!node.isTextual()) {
      fields.problem(
          path
              + " must be an ISO 8601 duration such as PT1M"
              + (node.isMissingNode() ? "; it is missing" : ""));
      return 0;
    }
    try {
      Duration period = Duration.parse(node.textValue());
      long micros =
          Math.addExact(
              Math.multiplyExact(period.getSeconds(), 1_000_000L), period.getNano() / 1_000);
      if (period.getNano() % 1_000 == 0
          && micros >= 1
          && micros <= TokenBucketLimit.MAX_PERIOD_MICROS) {
        return micros;
      }
      fields.problem(
          path + " must be whole microseconds, from 1 µs to 366 days, is " + node.textValue());
    } catch (DateTimeParseException | ArithmeticException notADuration) {
      fields.problem(
          path + " must be an ISO 8601 duration such as PT1M, is '" + node.textValue() + "'");
    }
    return 0;
  }
}
