// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import org.jspecify.annotations.Nullable;

/**
 * A store of ids chosen by clients, settled calls, and refused lines. An entry is kept for the
 * maximum lateness of a call.
 */
public interface SeenIds {
  /**
   * Returns the text stored under a key.
   *
   * @param key kind and names, encoded so that no two keys collide
   * @param appendEpochMillis the broker's time of the current record
   * @return the text, in ASCII; null if the key is absent
   */
  @Nullable String find(byte[] key, long appendEpochMillis);

  /**
   * Stores a text under an absent key.
   *
   * @param appendEpochMillis the broker's time of the current record
   */
  void remember(byte[] key, String text, long appendEpochMillis);
}
