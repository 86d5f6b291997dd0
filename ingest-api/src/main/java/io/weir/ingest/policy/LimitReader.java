// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.FixedWindow;
import io.weir.limits.FixedWindow.Alignment;
import io.weir.limits.LeakyBucket;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.Numbers;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the field {@code limit} of a policy: the algorithm and its parameters. */
final class LimitReader {
  private static final String TOKEN_BUCKET = LimitAlgorithm.TOKEN_BUCKET.wireName();
  private static final String LEAKY_BUCKET = "leaky-bucket";
  private static final String DENY = "deny";
  private static final String RESET_JITTER = "reset_jitter";
  private static final String ALGORITHMS =
      Stream.concat(
              Arrays.stream(LimitAlgorithm.values()).map(LimitAlgorithm::wireName),
              Stream.of(LEAKY_BUCKET, DENY))
          .collect(Collectors.joining(", "));
  private static final long MAX_TOKENS = Numbers.MAX;

  /** Default time zone, used if neither the policy nor the client sets a time zone. */
  private static final ZoneId UTC = ZoneId.of("UTC");

  private static final long MICROS_PER_SECOND = 1_000_000;

  private final FieldReader fields;

  LimitReader(FieldReader fields) {
    this.fields = fields;
  }

  /** Returns the limit, or null if it is invalid. */
  @Nullable PolicyLimit read(JsonNode node, String path) {
    if (!node.isObject()) {
      fields.problem(path + (node.isMissingNode() ? " is missing" : " must be a mapping"));
      return null;
    }
    JsonNode named = node.path("algorithm");
    String name = name(node);
    if (name.equals(DENY)) {
      fields.refuseUnknown(node, path, Set.of("algorithm"));
      return TokenBucketLimit.DENY;
    }
    if (name.equals(LEAKY_BUCKET)) {
      return leakyBucket(node, path);
    }
    LimitAlgorithm algorithm = find(name);
    if (algorithm == null) {
      fields.problem(
          path + ".algorithm must be one of " + ALGORITHMS + ", but is " + Shown.of(named));
      return null;
    }
    return switch (algorithm) {
      case TOKEN_BUCKET -> tokenBucket(node, path);
      case QUOTA -> quota(node, path);
      case FIXED_WINDOW -> fixedWindow(node, path);
      case SLIDING_WINDOW -> slidingWindow(node, path);
      case SLIDING_LOG -> slidingLog(node, path);
      case CONCURRENCY -> concurrency(node, path);
    };
  }

  private static String name(JsonNode node) {
    JsonNode named = node.path("algorithm");
    return named.isMissingNode() ? TOKEN_BUCKET : named.asText("");
  }

  /**
   * Returns the algorithm of a limit. The algorithm determines which other fields of the policy are
   * valid. The limit's other fields may be invalid. {@code deny} and {@code leaky-bucket} count as
   * a token bucket. Returns null if the algorithm is unknown.
   */
  static @Nullable LimitAlgorithm algorithmOf(JsonNode node) {
    if (!node.isObject()) {
      return null;
    }
    String name = name(node);
    boolean isCountedAsTokens = name.equals(DENY) || name.equals(LEAKY_BUCKET);
    return isCountedAsTokens ? LimitAlgorithm.TOKEN_BUCKET : find(name);
  }

  private static @Nullable LimitAlgorithm find(String name) {
    return Arrays.stream(LimitAlgorithm.values())
        .filter(each -> each.wireName().equals(name))
        .findFirst()
        .orElse(null);
  }

  private @Nullable TokenBucketLimit tokenBucket(JsonNode node, String path) {
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "capacity", "refill_tokens", "refill_period"));
    return bucket(node, path, "refill_tokens", "refill_period");
  }

  private @Nullable LeakyBucket leakyBucket(JsonNode node, String path) {
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "capacity", "leak_tokens", "leak_period", "queue"));
    JsonNode queue = node.path("queue");
    if (!queue.isMissingNode() && !queue.isBoolean()) {
      fields.problem(path + ".queue must be true or false, but is " + Shown.of(queue));
      return null;
    }
    TokenBucketLimit mirror = bucket(node, path, "leak_tokens", "leak_period");
    return mirror == null ? null : new LeakyBucket(mirror, queue.asBoolean());
  }

  private @Nullable TokenBucketLimit bucket(
      JsonNode node, String path, String tokensField, String periodField) {
    int problemsBefore = fields.count();
    long capacity = fields.integer(node, path, "capacity", 1, MAX_TOKENS);
    long tokens = fields.integer(node, path, tokensField, 1, MAX_TOKENS);
    long periodMicros = periodMicros(node.path(periodField), path + "." + periodField);
    if (fields.count() > problemsBefore) {
      return null;
    }
    try {
      return new TokenBucketLimit(capacity, tokens, periodMicros);
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
      fields.problem(path + ".billing_anchor requires period: billing");
    }
    return fields.count() > problemsBefore || period == null
        ? null
        : new CalendarQuota(
            limit,
            period,
            zone == null ? UTC : zone,
            anchor == null ? CalendarQuota.FIRST_OF_MONTH : anchor);
  }

  private @Nullable FixedWindow fixedWindow(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "limit", "window", "align", "time_zone", RESET_JITTER));
    long limit = fields.integer(node, path, "limit", 1, MAX_TOKENS);
    long lengthMicros = periodMicros(node.path("window"), path + ".window");
    int problemsBeforeAlign = fields.count();
    Alignment alignment = fields.choice(node, path, "align", Alignment.class, Alignment.EPOCH);
    boolean isAlignKnown = fields.count() == problemsBeforeAlign;
    ZoneId zone = fields.timeZone(node, path, "time_zone");
    if (isAlignKnown && alignment == Alignment.EPOCH && node.has("time_zone")) {
      fields.problem(path + ".time_zone requires align: calendar");
    }
    long lengthSeconds = lengthMicros / MICROS_PER_SECOND;
    if (lengthMicros > 0 && lengthMicros % MICROS_PER_SECOND != 0) {
      fields.problem(
          path + ".window must be whole seconds, but is " + Shown.of(node.path("window")));
    } else if (alignment == Alignment.CALENDAR
        && lengthSeconds > FixedWindow.MAX_CALENDAR_LENGTH_SECONDS) {
      fields.problem(
          path
              + ".window must be at most PT24H with align: calendar, but is "
              + Shown.of(node.path("window")));
    }
    if (alignment == Alignment.CALENDAR && node.has(RESET_JITTER)) {
      fields.problem(path + ".reset_jitter requires align: epoch");
    }
    long jitterSeconds = resetJitterSeconds(node, path, lengthSeconds, "the window");
    return fields.count() > problemsBefore || alignment == null
        ? null
        : new FixedWindow(
            limit, lengthSeconds, alignment, zone == null ? UTC : zone, jitterSeconds);
  }

  /**
   * Returns the maximum random delay of the start of windows in seconds; 0 if the field is not set.
   */
  private long resetJitterSeconds(JsonNode node, String path, long mostSeconds, String most) {
    if (!node.has(RESET_JITTER)) {
      return 0;
    }
    int problemsBefore = fields.count();
    long micros = periodMicros(node.path(RESET_JITTER), path + "." + RESET_JITTER);
    long seconds = micros / MICROS_PER_SECOND;
    if (fields.count() == problemsBefore
        && (micros % MICROS_PER_SECOND != 0 || seconds > mostSeconds)) {
      fields.problem(
          "%s.reset_jitter must be whole seconds, at most %s, but is %s"
              .formatted(path, most, Shown.of(node.path(RESET_JITTER))));
    }
    return seconds;
  }

  private @Nullable SlidingWindow slidingWindow(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(
        node, path, Set.of("algorithm", "limit", "window", "sub_windows", RESET_JITTER));
    long limit = fields.integer(node, path, "limit", 1, MAX_TOKENS);
    long lengthMicros = periodMicros(node.path("window"), path + ".window");
    long subWindows =
        node.has("sub_windows")
            ? fields.integer(node, path, "sub_windows", 1, SlidingWindow.MAX_SUB_WINDOWS)
            : 1;
    if (fields.count() > problemsBefore) {
      return null;
    }
    if (lengthMicros % (subWindows * MICROS_PER_SECOND) != 0) {
      fields.problem(
          path
              + ".window must be whole seconds"
              + (subWindows == 1 ? "" : " in each of the " + subWindows + " sub_windows")
              + ", but is "
              + Shown.of(node.path("window")));
      return null;
    }
    long lengthSeconds = lengthMicros / MICROS_PER_SECOND;
    long jitterSeconds =
        resetJitterSeconds(node, path, lengthSeconds / subWindows, "the sub-window");
    if (fields.count() > problemsBefore) {
      return null;
    }
    try {
      return new SlidingWindow(limit, lengthSeconds, (int) subWindows, jitterSeconds);
    } catch (IllegalArgumentException notCountable) {
      fields.problem(path + ": " + notCountable.getMessage());
      return null;
    }
  }

  private @Nullable SlidingLog slidingLog(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(node, path, Set.of("algorithm", "limit", "window"));
    JsonNode limit = node.path("limit");
    if (limit.isIntegralNumber()
        && limit.canConvertToLong()
        && limit.longValue() > SlidingLog.MAX_TOKENS
        && limit.longValue() <= MAX_TOKENS) {
      fields.problem(
          path
              + ".limit must be at most "
              + SlidingLog.MAX_TOKENS
              + " in a sliding log, which stores each call of the window; for a higher limit, "
              + "use sliding-window with sub_windows");
    } else {
      fields.integer(node, path, "limit", 1, SlidingLog.MAX_TOKENS);
    }
    long windowMicros = periodMicros(node.path("window"), path + ".window");
    return fields.count() > problemsBefore ? null : new SlidingLog(limit.longValue(), windowMicros);
  }

  private @Nullable ConcurrencyLimit concurrency(JsonNode node, String path) {
    int problemsBefore = fields.count();
    fields.refuseUnknown(node, path, Set.of("algorithm", "limit", "lease"));
    long limit = fields.integer(node, path, "limit", 1, ConcurrencyLimit.MAX_SLOTS);
    long leaseMicros = periodMicros(node.path("lease"), path + ".lease");
    if (fields.count() == problemsBefore
        && (leaseMicros < ConcurrencyLimit.MIN_LEASE_MICROS
            || leaseMicros > ConcurrencyLimit.MAX_LEASE_MICROS)) {
      fields.problem(
          path + ".lease must be PT0.1S to PT24H, but is " + Shown.of(node.path("lease")));
    }
    return fields.count() > problemsBefore ? null : new ConcurrencyLimit(limit, leaseMicros);
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
          path + " must be whole microseconds, from 1 µs to 366 days, but is " + Shown.of(node));
    } catch (DateTimeParseException | ArithmeticException notADuration) {
      fields.problem(path + " must be an ISO 8601 duration such as PT1M, but is " + Shown.of(node));
    }
    return 0;
  }
}
