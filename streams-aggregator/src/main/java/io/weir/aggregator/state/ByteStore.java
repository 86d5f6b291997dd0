// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An ordered map of bytes that outlives the process. Keys are ordered as unsigned bytes. All writes
 * made for one record of the calls topic become durable together with the outputs of that record,
 * or not at all.
 */
public interface ByteStore {
  /** Returns the value of a key, or null if there is none. */
  byte @Nullable [] get(byte[] key);

  /** Sets the value of a key. */
  void put(byte[] key, byte[] value);

  /** Removes a key; does nothing if it is absent. */
  void delete(byte[] key);

  /**
   * Returns the first entries of a range of keys, in ascending order.
   *
   * @param from the first key of the range, inclusive
   * @param to the end of the range, exclusive
   * @param maxEntries the most entries to return
   */
  List<Entry> scan(byte[] from, byte[] to, int maxEntries);

  /** Returns the least key greater than this one, from which a scan continues. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /**
   * One key with its value.
   *
   * @param key the key
   * @param value its value
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Entry(byte[] key, byte[] value) {}
}
