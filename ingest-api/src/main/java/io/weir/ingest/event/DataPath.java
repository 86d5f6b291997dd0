// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The path of a value in the data of an event. The path lists the names of nested JSON members, the
 * outermost member first. Examples are {@code tokens}, {@code usage.tokens} and, as in OpenMeter,
 * {@code $.usage.tokens}.
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
