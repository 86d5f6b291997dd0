// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.List;
import java.util.SplittableRandom;

/** The random generator of a world. The world has no other source of randomness. */
final class Chance {
  private final SplittableRandom random;

  private Chance(SplittableRandom random) {
    this.random = random;
  }

  static Chance ofSeed(long seed) {
    // spread adjacent seeds, because the first numbers of the generator are similar for similar
    // seeds
    return new Chance(new SplittableRandom(seed * 0x9e3779b97f4a7c15L + 0x632be59bd9b4e019L));
  }

  /**
   * Returns an independent generator. With their own generators, components do not change each
   * other's random numbers.
   */
  Chance split() {
    return new Chance(random.split());
  }

  /** Returns true with a probability of {@code chances} in a thousand. */
  boolean permille(int chances) {
    return chances > 0 && random.nextInt(1_000) < chances;
  }

  boolean percent(int chances) {
    return permille(10 * chances);
  }

  /** Returns a number in {@code [from, to]}. */
  long between(long from, long to) {
    return random.nextLong(from, to + 1);
  }

  int between(int from, int to) {
    return random.nextInt(from, to + 1);
  }

  /** Returns a length of time in {@code [fromMillis, toMillis]}, in microseconds. */
  long millis(long fromMillis, long toMillis) {
    return random.nextLong(fromMillis * 1_000, toMillis * 1_000 + 1);
  }

  <T> T pick(List<T> from) {
    return from.get(random.nextInt(from.size()));
  }
}
