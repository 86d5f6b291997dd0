// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;

/**
 * Replaces equal small mappings of a file by one shared object. In a large file, many clients have
 * equal settings, so sharing saves memory. Not thread-safe.
 */
final class SharedMappings {
  /** Maximum number of values in a shared mapping. Larger mappings are rarely equal. */
  private static final int MAX_VALUES = 1_000;

  /**
   * Maximum number of different mappings that are shared. Similar mappings often have equal hash
   * codes, which makes a lookup among many mappings slow.
   */
  private static final int MAX_MAPPINGS = 10_000;

  private final Map<JsonNode, JsonNode> mappings = new HashMap<>();

  /**
   * Returns a shared mapping that equals the given mapping, or the given mapping itself.
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
