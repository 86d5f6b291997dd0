// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

/**
 * Creates 64-bit hashes of texts, which identify buckets and names. Each run has a random seed, so
 * that clients cannot choose names with equal hashes. Immutable.
 */
public final class Hash {
  private static final long FIRST = 0xbf58476d1ce4e5b9L;
  private static final long SECOND = 0x94d049bb133111ebL;

  private final long seed;

  /** Creates hashes with a seed. */
  public Hash(long seed) {
    this.seed = seed;
  }

  long of(char[] chars, int from, int length) {
    long hash = seed ^ length;
    for (int i = from; i < from + length; i++) {
      hash = (hash ^ chars[i]) * FIRST;
      hash ^= hash >>> 32;
    }
    return mixed(hash);
  }

  /** Returns the hash of a text. */
  public long of(String text) {
    return of(text.toCharArray(), 0, text.length());
  }

  /** Returns a hash of two hashes; their order matters. */
  public static long of(long one, long other) {
    return mixed(one * SECOND + other);
  }

  /** The finisher of SplitMix (Steele, Lea, Flood, OOPSLA 2014). */
  private static long mixed(long hash) {
    long mixed = (hash ^ (hash >>> 30)) * FIRST;
    mixed = (mixed ^ (mixed >>> 27)) * SECOND;
    return mixed ^ (mixed >>> 31);
  }
}
