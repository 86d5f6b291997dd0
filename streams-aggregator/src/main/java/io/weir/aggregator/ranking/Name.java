// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/**
 * A name in a sketch, with a hash that a client cannot predict. Clients choose names, and could
 * choose names with the same {@link String#hashCode}. Such names would form one chain in the
 * sketch's hash table, which would slow down the sketch. With more than 1,024 names in a chain, the
 * sketch would fail. Immutable.
 */
final class Name {
  /** The Mersenne prime 2^61 − 1. */
  private static final long PRIME = (1L << 61) - 1;

  /** Random base of the polynomial, at least 256. Each process has another base. */
  private static final long BASE = 256 + new SecureRandom().nextLong(PRIME - 256);

  private final String text;
  private final int hash;

  Name(String text) {
    this.text = text;
    this.hash = hash(text);
  }

  String text() {
    return text;
  }

  /**
   * Returns the value of a polynomial over the characters, modulo a prime, at a random base. Two
   * names of n characters have the same value with a probability of at most n / 2^61.
   */
  private static int hash(String text) {
    long value = 1;
    for (int i = 0; i < text.length(); i++) {
      value = (timesBase(value) + text.charAt(i)) % PRIME;
    }
    return Long.hashCode(timesBase(value));
  }

  private static long timesBase(long value) {
    long high = Math.multiplyHigh(value, BASE);
    long low = value * BASE;
    // 2^61 is 1 modulo the prime
    return ((low & PRIME) + ((low >>> 61) | (high << 3))) % PRIME;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Name name && hash == name.hash && text.equals(name.text);
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return text;
  }
}
