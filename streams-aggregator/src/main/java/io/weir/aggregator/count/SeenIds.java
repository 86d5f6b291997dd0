// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The ids that callers chose, and those that were settled, remembered for as long as a call may be
 * late.
 */
public interface SeenIds {
  /**
   * Remembers an id.
   *
   * @param key kind (denied, allowed, settled), client and id, in a form that no two of them share
   * @param appendEpochMillis when the broker took the call
   * @return false when it was remembered already
   */
  boolean add(byte[] key, long appendEpochMillis);
}
