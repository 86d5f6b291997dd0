// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import org.jspecify.annotations.Nullable;

/**
 * The ids that callers chose, those that were settled, and the lines that were refused, remembered
 * for as long as a call may be late.
 */
public interface SeenIds {
  /**
   * What was remembered under a key first.
   *
   * @param key kind and names, in a form that no two of them share
   * @param appendEpochMillis when the broker took the record that asks
   * @return the text, in ASCII; null when nothing is remembered
   */
  @Nullable String find(byte[] key, long appendEpochMillis);

  /**
   * Remembers a text under a key of which nothing is known.
   *
   * @param appendEpochMillis when the broker took the record that is remembered
   */
  void remember(byte[] key, String text, long appendEpochMillis);
}
