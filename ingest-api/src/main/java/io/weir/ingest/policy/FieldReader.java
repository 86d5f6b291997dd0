// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.Names;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Reads typed fields from a JSON tree, and collects every problem with its place in the file. For
 * an invalid field, methods return its default, because Weir refuses the file anyway. Not
 * thread-safe.
 */
public final class FieldReader {
  private static final int MIN_YEAR = 1970;
  private static final int MAX_YEAR = 9999;

  /** Maximum number of reported problems. More problems than this usually have one common cause. */
  private static final int MAX_PROBLEMS = 100;

  private final List<String> problems = new ArrayList<>();
  private int count;

  /** Returns the first problems, and a last line that states how many problems are omitted. */
  public List<String> problems() {
    List<String> reported = new ArrayList<>(problems);
    if (count > problems.size()) {
      reported.add("and " + (count - problems.size()) + " more problems");
    }
    return reported;
  }

  /** Adds a problem. The text begins with the place of the problem, and the rule follows. */
  public void problem(String problem) {
    count++;
    if (problems.size() < MAX_PROBLEMS) {
      problems.add(problem);
    }
  }

  /** Returns the number of problems so far. */
  int count() {
    return count;
  }

  /**
   * Reports unknown fields as problems. Fields that begin with {@code x-} are ignored, so that
   * authors can use them for their own purposes.
   */
  public void refuseUnknown(JsonNode node, String path, Set<String> known) {
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      if (!known.contains(field.getKey()) && !field.getKey().startsWith("x-")) {
        problem(
            at(path, field.getKey())
                + " is not known here; the known fields are "
                + known.stream().sorted().collect(Collectors.joining(", ")));
      }
    }
  }

  /** Returns the name in a field; the empty string if the field is missing or no string. */
  public String name(JsonNode node, String path, String field) {
    JsonNode name = node.path(field);
    if (!name.isTextual()) {
      problem(at(path, field) + " " + (name.isMissingNode() ? "is missing" : "must be a string"));
      return "";
    }
    refuseBadName(name.textValue(), at(path, field));
    return name.textValue();
  }

  /** Reports a name that violates the rule for names. */
  public void refuseBadName(String name, String path) {
    String violation = Names.violation(name);
    if (violation != null) {
      problem(path + " " + violation);
    }
  }

  /**
   * Returns the integer in a field, from {@code min} to {@code max}. Returns {@code min} if the
   * field is missing or invalid.
   */
  public long integer(JsonNode node, String path, String field, long min, long max) {
    JsonNode value = node.path(field);
    if (!value.isIntegralNumber()
        || !value.canConvertToLong()
        || value.longValue() < min
        || value.longValue() > max) {
      problem(
          at(path, field)
              + (value.isMissingNode()
                  ? " is missing"
                  : " must be an integer from %s to %s, but is %s"
                      .formatted(min, max, Shown.of(value))));
      return min;
    }
    return value.longValue();
  }

  /**
   * Returns the enum constant that a field names. Returns {@code absent} if the field is missing or
   * invalid.
   */
  <E extends Enum<E>> @Nullable E choice(
      JsonNode node, String path, String field, Class<E> type, @Nullable E absent) {
    JsonNode value = node.path(field);
    if (value.isMissingNode() && absent != null) {
      return absent;
    }
    // tools that write YAML 1.1 convert the word off to false
    boolean isOff = value.isBoolean() && !value.booleanValue();
    E known = isOff || value.isTextual() ? constant(type, isOff ? "off" : value.asText()) : null;
    if (known == null) {
      problem(
          at(path, field)
              + (value.isMissingNode() ? " is missing; it" : "")
              + " must be one of "
              + words(type)
              + (value.isMissingNode() ? "" : ", but is " + Shown.of(value)));
      return absent;
    }
    return known;
  }

  /** Returns the time zone in a field, or null if the field is absent or invalid. */
  @Nullable ZoneId timeZone(JsonNode node, String path, String field) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return null;
    }
    try {
      if (value.isTextual()) {
        return ZoneId.of(value.textValue());
      }
    } catch (DateTimeException unknown) {
      // reported below, with the same message
    }
    problem(
        at(path, field)
            + " must be a time zone such as Europe/Paris, UTC or +02:00, but is "
            + Shown.of(value));
    return null;
  }

  /** Returns the date in a field, or null if the field is absent or invalid. */
  @Nullable LocalDate date(JsonNode node, String path, String field) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return null;
    }
    try {
      LocalDate date = LocalDate.parse(value.asText());
      if (date.getYear() >= MIN_YEAR && date.getYear() <= MAX_YEAR) {
        return date;
      }
    } catch (DateTimeException notADate) {
      // reported below, with the same message
    }
    problem(
        "%s must be a date such as 2026-01-17, from %s to %s, but is %s"
            .formatted(at(path, field), MIN_YEAR, MAX_YEAR, Shown.of(value)));
    return null;
  }

  /** Returns the point in time in a field, or null if the field is absent or invalid. */
  @Nullable Instant instant(JsonNode node, String path, String field) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return null;
    }
    try {
      Instant instant = OffsetDateTime.parse(value.asText()).toInstant();
      int year = instant.atOffset(ZoneOffset.UTC).getYear();
      if (year >= MIN_YEAR && year <= MAX_YEAR) {
        return instant;
      }
    } catch (DateTimeException notATime) {
      // reported below, with the same message
    }
    problem(
        at(path, field)
            + " must be an RFC 3339 time such as 2026-12-01T00:00:00Z, but is "
            + Shown.of(value));
    return null;
  }

  /** Returns the place of a field, as shown in messages. */
  public static String at(String path, String field) {
    String shown = Shown.cut(field);
    return path.isEmpty() ? shown : path + "." + shown;
  }

  static <E extends Enum<E>> @Nullable E constant(Class<E> type, String word) {
    for (E constant : type.getEnumConstants()) {
      if (constant.name().toLowerCase(Locale.ROOT).equals(word)) {
        return constant;
      }
    }
    return null;
  }

  private static <E extends Enum<E>> String words(Class<E> type) {
    return List.of(type.getEnumConstants()).stream()
        .map(constant -> constant.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(", "));
  }
}
