// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

/**
 * Computes the number that a line of {@code weir.calls.v1} adds to {@code events_digest}, from all
 * bytes of the line. The digest detects accidents, but does not protect against forgery. Stateless
 * and thread-safe.
 */
public final class LineDigest {
  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private LineDigest() {}

  /**
   * Returns the digest of a line without its line feed. The digest is FNV-1a (64 bit,
   * Fowler/Noll/Vo) over the bytes. The 64-bit mixer of SplitMix then mixes the result (Steele,
   * Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
   *
   * @param start index of the first byte
   * @param end index after the last byte
   */
  public static long of(byte[] bytes, int start, int end) {
    long hash = FNV_OFFSET;
    for (int i = start; i < end; i++) {
      hash = (hash ^ (bytes[i] & 0xff)) * FNV_PRIME;
    }
    hash = (hash ^ (hash >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }
}
