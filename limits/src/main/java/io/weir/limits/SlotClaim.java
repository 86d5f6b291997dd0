// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * A holder's claim to a slot, and the time until which the holder may take a new slot. Immutable.
 *
 * @param holder identifies the holder: {@value #HOLDER_CHARS} characters of Base64 for URLs
 * @param untilEpochMicros time until which the holder may take a new slot, in microseconds since
 *     1970 by the cache's clock; {@link #ALWAYS} for a new call. For a renewal, the time is
 *     limited: a renewal must not take a slot again after the lease has expired
 */
public record SlotClaim(String holder, long untilEpochMicros) {
  /** Value for a new call, which may take a slot at any time. */
  public static final long ALWAYS = Numbers.MAX;

  /** Length of a holder's identifier. */
  public static final int HOLDER_CHARS = BucketKey.Part.HASH_CHARS;

  /** The claim of a caller that neither holds nor takes a slot. */
  static final SlotClaim NOBODY = new SlotClaim("0".repeat(HOLDER_CHARS), 0);

  public SlotClaim {
    if (!isHolder(holder)) {
      throw new IllegalArgumentException(
          "the holder must be a hash of " + HOLDER_CHARS + " characters, but is '" + holder + "'");
    }
    Numbers.require("until (µs)", untilEpochMicros, 0, Numbers.MAX);
  }

  /**
   * Returns the claim of a call. Calls of different clients, or with different ids, have different
   * holders. A retry of a call with the same id has the same holder.
   */
  public static SlotClaim of(String client, String id) {
    // the length separates the client's name from the id
    return new SlotClaim(BucketKey.Part.hash(client.length() + ":" + client + id), ALWAYS);
  }

  /** Returns a claim of the same holder with another {@link #untilEpochMicros}. */
  public SlotClaim until(long epochMicros) {
    return new SlotClaim(holder, epochMicros);
  }

  /** Returns whether a text has the form of a holder's identifier. */
  public static boolean isHolder(String text) {
    return BucketKey.Part.isHash(text);
  }
}
