// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

/**
 * Who asks for a slot, and until when a slot that is not held may be taken. Immutable.
 *
 * @param holder names the holder: {@value #HOLDER_CHARS} characters of Base64 for URLs
 * @param untilEpochMicros the holder is given a slot that it does not hold before this time only,
 *     in microseconds since 1970 by the cache's clock: a renewal must not bring back a slot whose
 *     lease has ended. {@link #ALWAYS} for a new call
 */
public record SlotClaim(String holder, long untilEpochMicros) {
  /** No end: a new call may take a slot at any time. */
  public static final long ALWAYS = Numbers.MAX;

  /** Length of a holder's name. */
  public static final int HOLDER_CHARS = BucketKey.Part.HASH_CHARS;

  /** Holds no slot, and is given none. */
  static final SlotClaim NOBODY = new SlotClaim("0".repeat(HOLDER_CHARS), 0);

  public SlotClaim {
    if (!isHolder(holder)) {
      throw new IllegalArgumentException("not the name of a slot's holder: " + holder);
    }
    Numbers.require("until (µs)", untilEpochMicros, 0, Numbers.MAX);
  }

  /**
   * Returns the claim of a call. Calls of different clients, or with different ids, have different
   * holders; a call that is repeated with its id has the same.
   */
  public static SlotClaim of(String client, String id) {
    // the length tells where the client's name ends
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
