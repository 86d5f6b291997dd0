// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.weir.topics.model.CallEvent;
import java.math.BigDecimal;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The rule by which Weir counts the events of one type.
 *
 * @param meter the meter that counts the events
 * @param endpoint how Weir determines the endpoint
 * @param value the path of the quantity in the data; null if each event counts as 1
 * @param scale exponent of a power of 10, 0 to {@value #MAX_SCALE}; the quantity is the value
 *     multiplied by this power
 */
record EventRule(String meter, Endpoint endpoint, @Nullable DataPath value, int scale) {
  static final int MAX_SCALE = 9;

  /** Maximum length of a numeric string in the data, in characters. */
  private static final int MAX_NUMBER_CHARS = 40;

  /** The syntax of {@link BigDecimal}, with ASCII digits only. */
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?(\\d+(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+)?");

  /**
   * The path of a value in the data of an event. The path lists the names of nested JSON members,
   * the outermost member first. Examples are {@code tokens}, {@code usage.tokens} and, as in
   * OpenMeter, {@code $.usage.tokens}.
   *
   * @param text the path as written
   * @param members the names of the members, at least one
   */
  record DataPath(String text, List<String> members) {
    private static final int MAX_MEMBERS = 16;

    DataPath {
      members = List.copyOf(members);
    }

    /** Parses a path; returns null if the text is not a path. */
    static @Nullable DataPath parse(String text) {
      String names = text.startsWith("$.") ? text.substring(2) : text;
      List<String> members = List.of(names.split("\\.", -1));
      boolean isPath =
          members.size() <= MAX_MEMBERS
              && members.stream().noneMatch(String::isEmpty)
              && names.chars().noneMatch(c -> "$[]*?@'\"".indexOf(c) >= 0);
      return isPath ? new DataPath(text, members) : null;
    }

    /** Returns the value at this path in the data; a missing node if the data has no such value. */
    JsonNode in(JsonNode data) {
      JsonNode value = data;
      for (String member : members) {
        value = value.isObject() ? value.path(member) : MissingNode.getInstance();
      }
      return value;
    }

    /** Returns the path as problem details show it. */
    String shown() {
      return "data." + String.join(".", members);
    }
  }

  /** The method by which Weir determines the endpoint of an event. */
  sealed interface Endpoint {
    /** The same endpoint for every event. */
    record Fixed(String name) implements Endpoint {}

    /**
     * The endpoint is a string in the event's data. The string must be one of the permitted values.
     *
     * @param other the endpoint of events with any other value; null if Weir refuses such events
     */
    record Property(DataPath path, Set<String> values, @Nullable String other) implements Endpoint {
      public Property {
        values = Set.copyOf(values);
      }
    }
  }

  /** Returns whether the rule needs an event's data. */
  boolean readsData() {
    return value != null || endpoint instanceof Endpoint.Property;
  }

  /** Returns the endpoint of an event. */
  String endpoint(JsonNode data) throws RefusedEventException {
    if (endpoint instanceof Endpoint.Fixed fixed) {
      return fixed.name();
    }
    Endpoint.Property property = (Endpoint.Property) endpoint;
    JsonNode found = property.path().in(data);
    if (found.isTextual() && property.values().contains(found.textValue())) {
      return found.textValue();
    }
    if (property.other() != null) {
      return property.other();
    }
    throw new RefusedEventException(
        property.path().shown(),
        "must be one of the values that WEIR_EVENTS_FILE allows: "
            + String.join(", ", new TreeSet<>(property.values())));
  }

  /** Returns the quantity of an event, 0 to {@link CallEvent#MAX_QUANTITY}. */
  long quantity(JsonNode data) throws RefusedEventException {
    if (value == null) {
      return 1;
    }
    BigDecimal number = number(value.in(data));
    if (number != null) {
      try {
        long quantity = number.movePointRight(scale).longValueExact();
        if (quantity >= 0 && quantity <= CallEvent.MAX_QUANTITY) {
          return quantity;
        }
      } catch (ArithmeticException neitherWholeNorSmallEnough) {
        // refused below, with the same message
      }
    }
    throw new RefusedEventException(
        value.shown(),
        "must be a number, or a string with a number, from 0 to "
            + BigDecimal.valueOf(CallEvent.MAX_QUANTITY, scale).toPlainString()
            + " with at most "
            + scale
            + " decimal places; Weir does not round");
  }

  private static @Nullable BigDecimal number(JsonNode found) {
    if (found.isNumber()) {
      return found.decimalValue();
    }
    if (!found.isTextual()
        || found.textValue().length() > MAX_NUMBER_CHARS
        || !NUMBER.matcher(found.textValue()).matches()) {
      return null;
    }
    try {
      return new BigDecimal(found.textValue());
    } catch (NumberFormatException exponentOutOfRange) {
      return null;
    }
  }
}
