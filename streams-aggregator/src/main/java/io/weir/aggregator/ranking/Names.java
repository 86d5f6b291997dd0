// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The names that were used last, so that a name which is in many windows is in memory once. Not
 * thread-safe.
 */
final class Names {
  /** More than two sketches hold; beyond that, a name is in memory once for each sketch. */
  private static final int MAX_NAMES = 2_048;

  private final Map<String, Name> names =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Name> eldest) {
          return size() > MAX_NAMES;
        }
      };

  /** Returns the name with this text. */
  Name of(String text) {
    return names.computeIfAbsent(text, Name::new);
  }
}
