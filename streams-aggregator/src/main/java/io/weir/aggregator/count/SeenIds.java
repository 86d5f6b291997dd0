// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The ids that callers chose, and those that were settled, remembered for as long as a call may be
 * late.
 */
public interface SeenIds {
  /** What is known of an id. */
  enum Seen {
    /** Nothing; now it is remembered. */
    NEW,
    /** It was seen, of the same call. */
    AGAIN,
    /** It was seen, of another call. */
    OF_ANOTHER
  }

  /**
   * Remembers an id.
   *
   * @param key kind (denied, allowed, settled), client and id, in a form that no two of them share
   * @param fingerprint of the call that has the id now, in ASCII; empty when it does not matter
   * @param appendEpochMillis when the broker took the call
   */
  Seen see(byte[] key, String fingerprint, long appendEpochMillis);
}
