// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * A claim of a slot: its holder, and until when the holder may take a new slot. Immutable.
 *
 * @param holder names the holder: {@value #HOLDER_CHARS} characters of Base64 for URLs
 * @param untilEpochMicros end of the time in which the holder may take a new slot, in microseconds
 *     since 1970 by the cache's clock; {@link #ALWAYS} for a new call. A renewal has an end because
 *     it must not bring back a slot whose lease has expired
 */
public record SlotClaim(String holder, long untilEpochMicros) {
  /** No end: a new call may take a slot at any time. */
  public static final long ALWAYS = Numbers.MAX;

  /** Length of a holder's name. */
  public static final int HOLDER_CHARS = BucketKey.Part.HASH_CHARS;

  /** The claim of a caller that holds no slot and gets none. */
  static final SlotClaim NOBODY = new SlotClaim("0".repeat(HOLDER_CHARS), 0);

  public SlotClaim {
    if (!isHolder(holder)) {
      throw new IllegalArgumentException("not the name of a slot's holder: " + holder);
    }
    Numbers.require("until (µs)", untilEpochMicros, 0, Numbers.MAX);
  }

  /**
   * Returns the claim of a call. Calls of different clients, or with different ids, have different
   * holders. A retry of a call with the same id has the same holder.
   */
  public static SlotClaim of(String client, String id) {
    // the length marks the end of the client's name
    return new SlotClaim(BucketKey.Part.hash(client.length() + ":" + client + id), ALWAYS);
  }

  /** Returns the same holder's claim that ends at a time. */
  public SlotClaim until(long epochMicros) {
    return new SlotClaim(holder, epochMicros);
  }

  /** Returns whether a text has the form of a holder's name. */
  public static boolean isHolder(String text) {
    return BucketKey.Part.isHash(text);
  }
}
