// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of {@code weir.calls.v1} by the table in docs/topics. It shares no code with the
 * writers or the counters of lines, except the limit classes, which check whether a limit can be
 * counted exactly. Not thread-safe.
 */
final class LineReader {
  private static final int MAX_NAME_BYTES = 256;
  private static final int MAX_TEXT_CHARS = 64 * 1024;
  private static final int MAX_NESTING = 16;
  private static final int MAX_LIMITS_KNOWN = 4_096;
  private static final long MAX_EPOCH_MILLIS = CallLine.MAX_NUMBER / 1_000;
  private static final Set<String> DECIDED_BY =
      Set.of("cache", "deny-cache", "lease", "local", "fail-open", "fail-closed", "none");

  /** A window is at most a day long, so it may start in the previous billing period. */
  private static final long DAY_MILLIS = 86_400_000;

  private static final Set<String> WITHOUT_CACHE = Set.of("local", "fail-open");

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_NESTING)
                  .maxStringLength(MAX_TEXT_CHARS)
                  .maxNameLength(MAX_TEXT_CHARS)
                  .build())
          .build();

  private final Set<Limit> goodLimits = new HashSet<>();

  private static final String TOKEN_BUCKET = "token-bucket";
  private static final String QUOTA = "quota";
  private static final String FIXED_WINDOW = "fixed-window";
  private static final String SLIDING_WINDOW = "sliding-window";

  private record Limit(long capacity, long refillTokens, long refillPeriodMicros) {}

  /**
   * Reads one line.
   *
   * @throws UnreadableException if the line breaks a rule; the message names the rule
   */
  CallLine read(byte[] bytes, int start, int length) throws UnreadableException {
    try (JsonParser json = JSON.createParser(bytes, start, length)) {
      require(json.nextToken() == JsonToken.START_OBJECT, "a line is not a JSON object");
      CallLine line = members(json);
      require(json.nextToken() == null, "the line continues after the object");
      return line;
    } catch (IOException notJson) {
      throw new UnreadableException("a line is not JSON", notJson);
    }
  }

  private CallLine members(JsonParser json) throws IOException, UnreadableException {
    String id = null;
    String client = null;
    String endpoint = null;
    String meter = null;
    String decidedBy = null;
    Boolean allowed = null;
    boolean idFromCaller = false;
    long cost = 0;
    long version = 0;
    long decidedAt = -1;
    Long actualCost = null;
    Long settledAt = null;
    UsagePosition settledCall = null;
    Map<String, Object> billing = new HashMap<>();
    String name;
    while ((name = json.nextFieldName()) != null) {
      json.nextToken();
      switch (name) {
        case "id" -> id = text(json);
        case "client" -> client = text(json);
        case "endpoint" -> endpoint = text(json);
        case "meter" -> meter = text(json);
        case "cost" -> cost = integer(json);
        case "allowed" -> allowed = bool(json);
        case "decided_by" -> decidedBy = text(json);
        case "policy", "ip_prefix" -> text(json);
        case "policies_version" -> version = integer(json);
        case "decided_at_ms" -> decidedAt = integer(json);
        case "charges" -> charges(json);
        case "id_from_caller" -> idFromCaller = bool(json);
        case "actual_cost" -> actualCost = integer(json);
        case "settled_at_ms" -> settledAt = integer(json);
        case "billing_period", "billing_zone", "billing_period_before" ->
            billing.put(name, text(json));
        case "billing_period_start_ms", "billing_period_end_ms", "billing_period_before_start_ms" ->
            billing.put(name, integer(json));
        case "call_position" -> {
          settledCall = UsagePosition.parse(text(json));
          require(settledCall != null, "call_position is not a position of a line");
        }
        default -> json.skipChildren();
      }
    }
    require(json.currentToken() == JsonToken.END_OBJECT, "the object does not end");
    if (allowed == null) {
      throw new UnreadableException("allowed is missing");
    }
    require(decidedBy != null && DECIDED_BY.contains(decidedBy), "decided_by is not known");
    requireRange("cost", cost, 1, CallLine.MAX_NUMBER);
    requireRange("policies_version", version, 0, CallLine.MAX_NUMBER);
    requireRange("decided_at_ms", decidedAt, 0, MAX_EPOCH_MILLIS);
    require((actualCost == null) == (settledAt == null), "the settlement lacks a member");
    require(settledCall == null || actualCost != null, "the settlement lacks a member");
    if (actualCost != null && settledAt != null) {
      requireRange("actual_cost", actualCost, 0, CallLine.MAX_NUMBER);
      requireRange("settled_at_ms", settledAt, 0, MAX_EPOCH_MILLIS);
      require(allowed, "a denied call is settled");
    }
    return new CallLine(
        name("id", id),
        idFromCaller,
        name("client", client),
        name("endpoint", endpoint),
        name("meter", meter),
        cost,
        allowed,
        WITHOUT_CACHE.contains(decidedBy),
        decidedAt,
        actualCost,
        settledCall,
        version,
        billing.isEmpty() ? null : billed(billing, decidedAt));
  }

  private static Billed billed(Map<String, Object> members, long decidedAt)
      throws UnreadableException {
    boolean hasBefore =
        members.containsKey("billing_period_before")
            || members.containsKey("billing_period_before_start_ms");
    Billed billed =
        new Billed(
            date(members, "billing_period"),
            name("billing_zone", (String) members.get("billing_zone")),
            time(members, "billing_period_start_ms"),
            time(members, "billing_period_end_ms"),
            hasBefore ? date(members, "billing_period_before") : null,
            hasBefore ? time(members, "billing_period_before_start_ms") : 0);
    require(
        billed.startEpochMillis() <= decidedAt && decidedAt < billed.endEpochMillis(),
        "the billing period does not contain the call");
    require(
        hasBefore || decidedAt - billed.startEpochMillis() >= DAY_MILLIS,
        "billing_period_before is missing");
    require(
        !hasBefore || billed.beforeStartEpochMillis() < billed.startEpochMillis(),
        "the previous billing period is empty");
    return billed;
  }

  private static String date(Map<String, Object> members, String member)
      throws UnreadableException {
    try {
      return LocalDate.parse(String.valueOf(members.get(member))).toString();
    } catch (DateTimeParseException notADate) {
      throw new UnreadableException(member + " is not a date", notADate);
    }
  }

  private static long time(Map<String, Object> members, String member) throws UnreadableException {
    Object time = members.get(member);
    require(time != null, member + " is missing");
    long millis = time instanceof Long given ? given : 0;
    requireRange(member, millis, -CallLine.MAX_NUMBER, CallLine.MAX_NUMBER);
    return millis;
  }

  private void charges(JsonParser json) throws IOException, UnreadableException {
    require(json.currentToken() == JsonToken.START_ARRAY, "charges is not an array");
    while (json.nextToken() == JsonToken.START_OBJECT) {
      charge(json);
    }
    require(
        json.currentToken() == JsonToken.END_ARRAY, "charges has an element that is not an object");
  }

  private void charge(JsonParser json) throws IOException, UnreadableException {
    String key = null;
    Long epoch = null;
    long cost = -1;
    long charged = 0;
    long version = 0;
    long fullAt = 0;
    Long capacity = null;
    String algorithm = null;
    long windowMicros = 0;
    long subWindows = 0;
    long refillTokens = 0;
    long refillPeriod = 0;
    long endsAt = 0;
    String name;
    while ((name = json.nextFieldName()) != null) {
      json.nextToken();
      switch (name) {
        case "key" -> key = text(json);
        case "epoch" -> epoch = integer(json);
        case "cost" -> cost = integer(json);
        case "charged" -> charged = integer(json);
        case "version" -> version = integer(json);
        case "full_at_us" -> fullAt = integer(json);
        case "algorithm" -> algorithm = text(json);
        case "window_us" -> windowMicros = integer(json);
        case "sub_windows" -> subWindows = integer(json);
        case "capacity" -> capacity = integer(json);
        case "refill_tokens" -> refillTokens = integer(json);
        case "refill_period_us" -> refillPeriod = integer(json);
        case "ends_at_us" -> endsAt = integer(json);
        default -> json.skipChildren();
      }
    }
    require(key != null, "charges.key is missing");
    requireRange("charges.cost", cost, 0, CallLine.MAX_NUMBER);
    if (epoch != null) {
      requireRange("charges.epoch", epoch, 1, CallLine.MAX_NUMBER);
      requireRange("charges.charged", charged, cost, CallLine.MAX_NUMBER);
      requireRange("charges.version", version, 0, CallLine.MAX_NUMBER);
      requireRange("charges.full_at_us", fullAt, 0, CallLine.MAX_NUMBER);
    }
    if (capacity != null) {
      limit(
          algorithm == null ? (endsAt > 0 ? QUOTA : TOKEN_BUCKET) : algorithm,
          new Limit(capacity, refillTokens, refillPeriod),
          endsAt,
          windowMicros,
          subWindows);
    }
  }

  /**
   * Checks a limit. Without an algorithm it is a quota if it has an end, and a token bucket
   * otherwise.
   */
  private void limit(String algorithm, Limit limit, long endsAt, long windowMicros, long subWindows)
      throws UnreadableException {
    boolean isSliding = algorithm.equals(SLIDING_WINDOW);
    boolean isWindow = isSliding || algorithm.equals(FIXED_WINDOW);
    if (isWindow || algorithm.equals(QUOTA)) {
      requireRange("charges.capacity", limit.capacity, 1, CallLine.MAX_NUMBER);
      requireRange("charges.ends_at_us", endsAt, 1, CallLine.MAX_NUMBER);
      if (isWindow) {
        requireRange("charges.window_us", windowMicros, 1, CallLine.MAX_NUMBER);
      }
      if (isSliding) {
        requireWeighted(limit, endsAt, windowMicros, subWindows);
      }
      return;
    }
    require(algorithm.equals(TOKEN_BUCKET), "charges.algorithm is not known");
    if (!goodLimits.contains(limit)) {
      try {
        new TokenBucketLimit(limit.capacity, limit.refillTokens, limit.refillPeriodMicros).scale();
      } catch (IllegalArgumentException notExact) {
        throw new UnreadableException("charges: " + notExact.getMessage(), notExact);
      }
      if (goodLimits.size() >= MAX_LIMITS_KNOWN) {
        goodLimits.clear();
      }
      goodLimits.add(limit);
    }
  }

  private static void requireWeighted(Limit limit, long endsAt, long windowMicros, long subWindows)
      throws UnreadableException {
    try {
      boolean unused =
          new SlidingWindowLimit(limit.capacity, endsAt, windowMicros, subWindows).refills();
    } catch (IllegalArgumentException outOfRange) {
      throw new UnreadableException("charges: " + outOfRange.getMessage(), outOfRange);
    }
  }

  /**
   * Returns a name after checking it: 1 to 256 bytes of UTF-8, without control characters and
   * unpaired surrogates.
   */
  private static String name(String member, @Nullable String text) throws UnreadableException {
    if (text == null || text.isEmpty()) {
      throw new UnreadableException(member + " is missing or empty");
    }
    int bytes = 0;
    for (int i = 0; i < text.length(); ) {
      int point = text.codePointAt(i);
      require(!Character.isISOControl(point), member + " has a control character");
      boolean unpaired = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE;
      require(!unpaired, member + " has an unpaired surrogate");
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      i += Character.charCount(point);
    }
    require(bytes <= MAX_NAME_BYTES, member + " has more than 256 bytes");
    return text;
  }

  private static String text(JsonParser json) throws IOException, UnreadableException {
    require(json.currentToken() == JsonToken.VALUE_STRING, json.currentName() + " is not a string");
    return json.getText();
  }

  private static long integer(JsonParser json) throws IOException, UnreadableException {
    require(
        json.currentToken() == JsonToken.VALUE_NUMBER_INT,
        json.currentName() + " is not an integer");
    return json.getLongValue();
  }

  private static boolean bool(JsonParser json) throws IOException, UnreadableException {
    JsonToken token = json.currentToken();
    require(
        token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE,
        json.currentName() + " is neither true nor false");
    return token == JsonToken.VALUE_TRUE;
  }

  private static void requireRange(String member, long value, long least, long most)
      throws UnreadableException {
    require(value >= least && value <= most, member + " is out of range");
  }

  private static void require(boolean holds, String otherwise) throws UnreadableException {
    if (!holds) {
      throw new UnreadableException(otherwise);
    }
  }
}
