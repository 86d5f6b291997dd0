// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import org.jspecify.annotations.Nullable;

/**
 * A store of the ids that clients chose, of settled calls, and of refused lines. An entry is kept
 * for the maximum lateness of a call.
 */
public interface SeenIds {
  /**
   * Returns the text stored under a key.
   *
   * @param key the kind and the names, encoded so that different values have different keys
   * @param appendEpochMillis the broker's time of the current record
   * @return the text in ASCII, or null if the key is absent
   */
  @Nullable String find(byte[] key, long appendEpochMillis);

  /**
   * Stores a text under a key that is absent.
   *
   * @param appendEpochMillis the broker's time of the current record
   */
  void remember(byte[] key, String text, long appendEpochMillis);
}
