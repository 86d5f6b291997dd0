// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import org.jspecify.annotations.Nullable;

/**
 * The store of ids that callers chose, calls that were settled, and lines that were refused.
 * Entries are kept for as long as a call may be late.
 */
public interface SeenIds {
  /**
   * Returns the text that was first remembered under a key.
   *
   * @param key kind and names, in a form that no two of them share
   * @param appendEpochMillis when the broker took the current record
   * @return the text, in ASCII; null if nothing is remembered
   */
  @Nullable String find(byte[] key, long appendEpochMillis);

  /**
   * Remembers a text under a key of which nothing is known.
   *
   * @param appendEpochMillis when the broker took the current record
   */
  void remember(byte[] key, String text, long appendEpochMillis);
}
