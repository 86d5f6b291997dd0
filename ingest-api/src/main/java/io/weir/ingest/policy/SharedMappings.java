// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;

/**
 * One of all equal small mappings of a file. Most of many clients have one of a few settings. Not
 * thread-safe.
 */
final class SharedMappings {
  /** Maximum number of values in a shared mapping. Larger ones are rarely equal. */
  private static final int MAX_VALUES = 1_000;

  /**
   * Maximum number of different mappings that are shared. The hash codes of similar mappings
   * collide, so that many of them take long to find.
   */
  private static final int MAX_MAPPINGS = 10_000;

  private final Map<JsonNode, JsonNode> mappings = new HashMap<>();

  /**
   * Returns an equal mapping that is already shared, or the given one.
   *
   * @param values number of values in the mapping, including those of nested mappings
   */
  JsonNode oneOf(ObjectNode mapping, long values) {
    if (values > MAX_VALUES) {
      return mapping;
    }
    JsonNode known =
        mappings.size() < MAX_MAPPINGS
            ? mappings.putIfAbsent(mapping, mapping)
            : mappings.get(mapping);
    return known == null ? mapping : known;
  }
}
