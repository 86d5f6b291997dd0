// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The scalar members of one flat JSON object, for records that are not on the hot path. Immutable.
 */
final class Members {
  private final String record;
  private final Map<String, Object> values;

  private Members(String record, Map<String, Object> values) {
    this.record = record;
    this.values = values;
  }

  static Members read(byte[] bytes, String record) throws MalformedRecordException {
    Map<String, Object> values = new HashMap<>();
    try (JsonParser json = Json.FACTORY.createParser(bytes)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new MalformedRecordException("a " + record + " must be a JSON object");
      }
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String member = json.currentName();
        switch (json.nextToken()) {
          case VALUE_STRING -> values.put(member, json.getText());
          case VALUE_NUMBER_INT -> values.put(member, Json.integer(json, member));
          case VALUE_TRUE -> values.put(member, true);
          case VALUE_FALSE -> values.put(member, false);
          default -> json.skipChildren();
        }
      }
      if (json.currentToken() != JsonToken.END_OBJECT || json.nextToken() != null) {
        throw new MalformedRecordException("a " + record + " must be one whole JSON object");
      }
    } catch (IOException notJson) {
      throw new MalformedRecordException("a " + record + " must be JSON", notJson);
    }
    return new Members(record, values);
  }

  String text(String member) throws MalformedRecordException {
    return required(member, String.class);
  }

  @Nullable String textOrNull(String member) throws MalformedRecordException {
    return values.containsKey(member) ? text(member) : null;
  }

  long integer(String member) throws MalformedRecordException {
    return required(member, Long.class);
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

  private <T> T required(String member, Class<T> type) throws MalformedRecordException {
    Object value = values.get(member);
    if (!type.isInstance(value)) {
      throw new MalformedRecordException(
          record + ": " + member + (value == null ? " is missing" : " has the wrong type"));
    }
    return type.cast(value);
  }
}
