// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An ordered map of bytes that outlives the process. Keys are ordered as unsigned bytes. All writes
 * made for one record of the calls topic become durable together with its outputs, or not at all.
 */
public interface ByteStore {
  /** The value of a key, null when there is none. */
  byte @Nullable [] get(byte[] key);

  /** Sets a value. */
  void put(byte[] key, byte[] value);

  /** Removes a key; nothing happens when there is none. */
  void delete(byte[] key);

  /**
   * The first entries of a range, in order of key.
   *
   * @param from first key, inclusive
   * @param to last key, exclusive
   * @param maxEntries most entries to return
   */
  List<Entry> scan(byte[] from, byte[] to, int maxEntries);

  /** The least key that is greater: where a scan goes on. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  /**
   * A key and its value.
   *
   * @param key the key
   * @param value its value
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Entry(byte[] key, byte[] value) {}
}
