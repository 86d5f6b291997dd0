// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The members of one JSON object, for records whose decoding need not be fast. An instance contains
 * scalars, lists of integers and lists of objects, and ignores other members. Immutable.
 */
final class Members {
  /** Placeholder for a list element that is neither an integer nor an object. */
  private static final Object OTHER = new Object();

  private final String record;
  private final Map<String, Object> values;

  private Members(String record, Map<String, Object> values) {
    this.record = record;
    this.values = values;
  }

  /** Decoder of a record from its members. */
  interface Decoder<T> {
    /**
     * Creates the record.
     *
     * @throws RuntimeException if a value is out of range
     */
    T decode(Members members) throws MalformedRecordException;
  }

  /**
   * Decodes a record.
   *
   * @param record the kind of record, for messages
   * @throws MalformedRecordException if the bytes are not one JSON object, or not a valid record
   */
  static <T> T decode(byte[] bytes, String record, Decoder<T> decoder)
      throws MalformedRecordException {
    Members members = read(bytes, record);
    try {
      return decoder.decode(members);
    } catch (IllegalArgumentException | IllegalStateException | ArithmeticException badValue) {
      throw new MalformedRecordException(record + ": " + badValue.getMessage(), badValue);
    }
  }

  private static Members read(byte[] bytes, String record) throws MalformedRecordException {
    try (JsonParser json = Json.FACTORY.createParser(bytes)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new MalformedRecordException("a " + record + " must be a JSON object");
      }
      Members members = read(json, record);
      if (json.currentToken() != JsonToken.END_OBJECT || json.nextToken() != null) {
        throw new MalformedRecordException("a " + record + " must be one complete JSON object");
      }
      return members;
    } catch (IOException notJson) {
      throw new MalformedRecordException("a " + record + " must be JSON", notJson);
    }
  }

  private static Members read(JsonParser json, String record)
      throws IOException, MalformedRecordException {
    Map<String, Object> values = new HashMap<>();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String member = json.currentName();
      switch (json.nextToken()) {
        case VALUE_STRING -> values.put(member, json.getText());
        case VALUE_NUMBER_INT -> values.put(member, Json.integer(json, member));
        case VALUE_TRUE -> values.put(member, true);
        case VALUE_FALSE -> values.put(member, false);
        case START_ARRAY -> values.put(member, readList(json, record + ": " + member));
        default -> json.skipChildren();
      }
    }
    return new Members(record, values);
  }

  private static List<Object> readList(JsonParser json, String record)
      throws IOException, MalformedRecordException {
    List<Object> elements = new ArrayList<>();
    while (json.nextToken() != null && json.currentToken() != JsonToken.END_ARRAY) {
      switch (json.currentToken()) {
        case START_OBJECT -> elements.add(read(json, record));
        case VALUE_NUMBER_INT -> elements.add(Json.integer(json, record));
        default -> {
          json.skipChildren();
          elements.add(OTHER);
        }
      }
    }
    return elements;
  }

  String text(String member) throws MalformedRecordException {
    return required(member, String.class);
  }

  String text(String member, String absent) throws MalformedRecordException {
    return values.containsKey(member) ? text(member) : absent;
  }

  @Nullable String textOrNull(String member) throws MalformedRecordException {
    return values.containsKey(member) ? text(member) : null;
  }

  boolean has(String member) {
    return values.containsKey(member);
  }

  long integer(String member) throws MalformedRecordException {
    return required(member, Long.class);
  }

  long integer(String member, long absent) throws MalformedRecordException {
    return values.containsKey(member) ? integer(member) : absent;
  }

  int smallInteger(String member) throws MalformedRecordException {
    long value = integer(member);
    if (value != (int) value) {
      throw new MalformedRecordException(record + ": " + member + " must be in the range of int32");
    }
    return (int) value;
  }

  boolean bool(String member) throws MalformedRecordException {
    return required(member, Boolean.class);
  }

  /** Returns the integers of a list; an empty list if the member is absent. */
  List<Long> integers(String member) throws MalformedRecordException {
    return list(member, Long.class);
  }

  /** Returns the objects of a list; an empty list if the member is absent. */
  List<Members> objects(String member) throws MalformedRecordException {
    return list(member, Members.class);
  }

  private <T> List<T> list(String member, Class<T> type) throws MalformedRecordException {
    if (!values.containsKey(member)) {
      return List.of();
    }
    List<T> elements = new ArrayList<>();
    for (Object element : required(member, List.class)) {
      elements.add(ofType(member, element, type));
    }
    return elements;
  }

  private <T> T required(String member, Class<T> type) throws MalformedRecordException {
    Object value = values.get(member);
    if (value == null) {
      throw new MalformedRecordException(record + ": " + member + " is missing");
    }
    return ofType(member, value, type);
  }

  private <T> T ofType(String member, Object value, Class<T> type) throws MalformedRecordException {
    if (!type.isInstance(value)) {
      throw new MalformedRecordException(record + ": " + member + " has the wrong type");
    }
    return type.cast(value);
  }
}
