// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.PolicyLimit;
import io.weir.limits.policy.LeaseTerms;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the field {@code lease} of a policy. The field allows nodes to take tokens in advance.
 * Collects every problem.
 */
final class LeaseReader {
  /**
   * Default duration of a lease. A lease lasts much longer than a request to the cache, and is
   * short for a caller that waits.
   */
  private static final Duration DEFAULT_LENGTH = Duration.ofMillis(200);

  /** Minimum number of tokens. A lease of one token would save no cache query. */
  private static final long MIN_TOKENS = 2;

  /** The number of tokens of a lease is at most the capacity divided by this number. */
  private static final long CAPACITY_DIVISOR = 2;

  private static final long NANOS_PER_MICRO = 1_000;
  private static final BigDecimal HUNDRED = BigDecimal.valueOf(100);
  private static final Pattern PERCENT = Pattern.compile("(\\d{1,3}(?:\\.\\d{1,3})?) ?%");

  private final FieldReader fields;

  LeaseReader(FieldReader fields) {
    this.fields = fields;
  }

  /**
   * Reads the lease terms of a policy.
   *
   * @param limit the limit of the policy; null if it is invalid
   * @return the terms; null if they are absent or invalid
   */
  @Nullable LeaseTerms read(JsonNode node, String path, @Nullable PolicyLimit limit) {
    if (node.isMissingNode()) {
      return null;
    }
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping with the fields tokens and for");
      return null;
    }
    fields.refuseUnknown(node, path, Set.of("tokens", "for"));
    int problemsBefore = fields.count();
    long micros = micros(node.path("for"), path + ".for");
    if (limit == null) {
      return null;
    }
    if (!limit.refills() || limit.capacityTokens() == 0) {
      fields.problem(path + " requires a token bucket");
      return null;
    }
    if (limit.isQueue()) {
      fields.problem(
          path
              + " must not be set for a queue, because a lease cannot compute the "
              + "delays of a queue");
      return null;
    }
    long tokens = tokens(node.path("tokens"), path + ".tokens", limit.capacityTokens());
    return fields.count() > problemsBefore ? null : new LeaseTerms(tokens, micros);
  }

  private long tokens(JsonNode node, String path, long capacity) {
    long most = capacity / CAPACITY_DIVISOR;
    long tokens = -1;
    if (node.isIntegralNumber() && node.canConvertToLong()) {
      tokens = node.longValue();
    } else if (node.isTextual()) {
      Matcher percent = PERCENT.matcher(node.textValue().strip());
      if (percent.matches()) {
        tokens =
            new BigDecimal(percent.group(1))
                .multiply(BigDecimal.valueOf(capacity))
                .divide(HUNDRED, 0, RoundingMode.DOWN)
                .longValueExact();
      }
    }
    if (tokens < MIN_TOKENS || tokens > most) {
      fields.problem(
          path
              + " must be a part of the capacity such as 5%, or a number of tokens; at least "
              + MIN_TOKENS
              + " tokens and at most half of the capacity, "
              + most
              + (node.isMissingNode() ? "; it is missing" : ", but is " + Shown.of(node)));
    }
    return tokens;
  }

  private long micros(JsonNode node, String path) {
    Duration length = DEFAULT_LENGTH;
    if (!node.isMissingNode()) {
      try {
        length = Duration.parse(node.asText());
      } catch (DateTimeParseException notADuration) {
        length = Duration.ZERO; // reported below, with the same message
      }
    }
    boolean isIn =
        length.compareTo(Duration.ofNanos(LeaseTerms.MIN_MICROS * NANOS_PER_MICRO)) >= 0
            && length.compareTo(Duration.ofNanos(LeaseTerms.MAX_MICROS * NANOS_PER_MICRO)) <= 0
            && length.toNanos() % NANOS_PER_MICRO == 0;
    if (!isIn) {
      fields.problem(
          path
              + " must be an ISO 8601 duration from PT0.001S to PT1S in whole microseconds, but is "
              + Shown.of(node));
      return 0;
    }
    return length.toNanos() / NANOS_PER_MICRO;
  }
}
