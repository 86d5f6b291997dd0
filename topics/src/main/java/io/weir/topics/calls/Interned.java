// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import org.jspecify.annotations.Nullable;

/**
 * A cache that returns the same object for equal dictionary entries. Many batches have the same
 * limits and billing periods, so their values are usually checked only once. A new entry replaces
 * the entry in the same slot. Not thread-safe.
 *
 * @param <T> type of the entries; {@code equals} compares their values
 */
final class Interned<T> {
  /** Number of slots, a power of two. */
  private static final int SLOTS = 512;

  private final @Nullable Object[] slots = new Object[SLOTS];

  /**
   * Returns the cached entry that equals the given entry; the given entry if there is none.
   *
   * @param digest a number that is equal for equal entries
   */
  @SuppressWarnings("unchecked") // a slot has only entries of this type
  T of(long digest, T entry) {
    int slot = (int) Digest.mixed(digest) & (SLOTS - 1);
    Object known = slots[slot];
    if (entry.equals(known)) {
      return (T) known;
    }
    slots[slot] = entry;
    return entry;
  }
}
