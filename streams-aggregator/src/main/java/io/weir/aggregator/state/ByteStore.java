// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A persistent map from byte arrays to byte arrays, ordered by key. Keys are compared as unsigned
 * bytes. All writes for one record of the calls topic become durable atomically, together with the
 * record's output.
 */
public interface ByteStore {
  /** Returns the value of a key, or null if there is none. */
  byte @Nullable [] get(byte[] key);

  /** Sets the value of a key. */
  void put(byte[] key, byte[] value);

  /** Removes a key; does nothing if it is absent. */
  void delete(byte[] key);

  /**
   * Returns the first entries of a range, in ascending order of keys.
   *
   * @param from the first key of the range, inclusive
   * @param to the end of the range, exclusive
   * @param maxEntries the maximum number of entries
   */
  List<Entry> scan(byte[] from, byte[] to, int maxEntries);

  /**
   * Returns the least key that is greater than a key. A scan that has read the given key can
   * continue at the returned key.
   */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /**
   * One key with its value.
   *
   * @param key the key
   * @param value its value
   */
  @SuppressWarnings("ArrayRecordComponent") // arrays are never compared or changed
  record Entry(byte[] key, byte[] value) {}
}
