// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A cache of the most recently used names. Because of the cache, a name that occurs in many windows
 * is usually in memory only once. Not thread-safe.
 */
final class NameCache {
  /**
   * Maximum number of cached names. This maximum is greater than the number of names in two
   * sketches. A name that is not cached may be in memory once per sketch.
   */
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
