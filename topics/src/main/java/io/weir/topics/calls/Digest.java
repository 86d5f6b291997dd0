// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import java.nio.charset.StandardCharsets;

/**
 * Computes the digests of lines, which {@code events_digest} sums. A digest detects accidental
 * changes, but does not protect against forgery. Stateless and thread-safe.
 */
final class Digest {
  /** The digest before the first member. */
  static final long EMPTY = 0xcbf29ce484222325L;

  private static final long FNV_PRIME = 0x100000001b3L;
  private static final int ROTATION = 23;

  private Digest() {}

  /** Returns the FNV-1a hash (64 bit, Fowler/Noll/Vo) of the UTF-8 bytes of a text. */
  static long ofText(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return ofBytes(bytes, 0, bytes.length);
  }

  static long ofBytes(byte[] bytes, int start, int length) {
    long hash = EMPTY;
    for (int i = start; i < start + length; i++) {
      hash = (hash ^ (bytes[i] & 0xff)) * FNV_PRIME;
    }
    return hash;
  }

  /** Returns a digest that is extended by one member. */
  static long with(long digest, long member) {
    return (Long.rotateLeft(digest, ROTATION) ^ member) * FNV_PRIME;
  }

  /**
   * Mixes the bits of a complete digest with the 64-bit mixer of SplitMix (Steele, Lea, Flood,
   * "Fast splittable pseudorandom number generators", OOPSLA 2014).
   */
  static long mixed(long digest) {
    long hash = (digest ^ (digest >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }
}
