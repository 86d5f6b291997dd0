// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.weir.ingest.gate.Descriptor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Names the attributes that hold the values of a descriptor's entries: each has the name of its
 * key. The second entry of a key gets the suffix {@code #2}, the third {@code #3}. The first entry
 * also gets a suffix if its key is the name of another attribute of descriptors. Stateless and
 * thread-safe.
 */
public final class EntryNames {
  private EntryNames() {}

  /** Returns the name of each entry's attribute, given the keys in order. */
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

  /** Returns the keys of a descriptor from their joined form; no key contains a semicolon. */
  public static List<String> split(String joined) {
    return List.of(joined.split(";", -1));
  }
}
