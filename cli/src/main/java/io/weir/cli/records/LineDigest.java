// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

/**
 * The arithmetic of a line's summand of {@code events_digest}, written from docs/topics. Stateless
 * and thread-safe.
 */
final class LineDigest {
  /** The digest of no members, and the FNV-1a hash of no bytes. */
  static final long NOTHING = 0xcbf29ce484222325L;

  private static final long FNV_PRIME = 0x100000001b3L;
  private static final int ROTATION = 23;

  private LineDigest() {}

  /** Returns the FNV-1a hash of bytes. */
  static long ofBytes(byte[] bytes, int start, int length) {
    long hash = NOTHING;
    for (int i = start; i < start + length; i++) {
      hash ^= Byte.toUnsignedLong(bytes[i]);
      hash *= FNV_PRIME;
    }
    return hash;
  }

  /** Returns a digest with one more member. */
  static long add(long digest, long member) {
    return ((digest << ROTATION | digest >>> (Long.SIZE - ROTATION)) ^ member) * FNV_PRIME;
  }

  /** Returns the result of SplitMix's mixer. */
  static long mixed(long digest) {
    long mixed = digest;
    mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }
}
