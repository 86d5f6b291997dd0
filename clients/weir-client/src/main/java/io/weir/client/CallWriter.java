// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes request bodies as JSON. Thread-safe. */
final class CallWriter {
  private static final ObjectMapper JSON = new ObjectMapper();

  private CallWriter() {}

  /**
   * Returns the body of a check.
   *
   * @param id the id of the call
   */
  static byte[] check(Call call, String id) {
    Map<String, Object> members = new LinkedHashMap<>();
    put(members, "client", call.client());
    put(members, "api_key", call.apiKey());
    put(members, "endpoint", call.endpoint());
    put(members, "meter", call.meter());
    members.put("cost", call.cost());
    members.put("id", id);
    put(members, "ip", call.ip());
    if (!call.attributes().isEmpty()) {
      members.put("attributes", call.attributes());
    }
    return object(members);
  }

  private static void put(Map<String, Object> members, String name, @Nullable String value) {
    if (value != null) {
      members.put(name, value);
    }
  }

  /** Returns a JSON object with the given members. */
  static byte[] object(Map<String, Object> members) {
    try {
      return JSON.writeValueAsBytes(members);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException("writing JSON to memory cannot fail", impossible);
    }
  }
}
