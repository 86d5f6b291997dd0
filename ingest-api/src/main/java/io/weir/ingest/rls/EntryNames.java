// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.weir.ingest.gate.Descriptor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Creates the names of the attributes for a descriptor's entries. An attribute has the name of the
 * entry's key. If a key is repeated, the second entry gets the suffix {@code #2}, the third {@code
 * #3}. The first entry also gets a suffix if its key equals the name of a reserved attribute.
 * Stateless and thread-safe.
 */
public final class EntryNames {
  private EntryNames() {}

  /** Returns the attribute names of entries with the given keys, in the same order. */
  public static List<String> of(List<String> keys) {
    Set<String> used = new HashSet<>(Set.of(Descriptor.DOMAIN, Descriptor.KEYS));
    List<String> names = new ArrayList<>(keys.size());
    for (String key : keys) {
      String name = key;
      for (int number = 2; !used.add(name); number++) {
        name = key + "#" + number;
      }
      names.add(name);
    }
    return names;
  }

  /** Returns the value of the attribute that lists the keys of a descriptor. */
  public static String joined(List<String> keys) {
    return String.join(";", keys);
  }

  /**
   * Splits the value of the attribute that lists the keys of a descriptor. No key contains a
   * semicolon.
   */
  public static List<String> split(String joined) {
    return List.of(joined.split(";", -1));
  }
}
