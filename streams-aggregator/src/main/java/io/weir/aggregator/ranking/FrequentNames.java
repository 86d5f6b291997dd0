// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.function.ObjLongConsumer;
import org.apache.datasketches.frequencies.ErrorType;
import org.apache.datasketches.frequencies.ItemsSketch;

/**
 * The names with the greatest sums of weights, and a lower bound for the sum of each: a
 * frequent-items sketch of Apache DataSketches (D. Anderson et al., "A High-Performance Algorithm
 * for Identifying Frequent Items in Data Streams", 2017), with sums that cannot overflow.
 *
 * <p>The sum of a name is between its lower bound, which is 0 for a name that is not held, and that
 * plus {@link #error}. The error is 0 until there are more names than three quarters of the size of
 * the map; beyond that it is at most 3.5 / size of the sum of all weights. Not thread-safe.
 */
final class FrequentNames {
  /** Most weight that is put into a sketch: two such sums are still an int64. */
  private static final long MAX_WEIGHT = 1L << 61;

  private final ItemsSketch<Name> sketch;

  /** Weight that is in no lower bound, and may be of any name. */
  private long unseen;

  /**
   * Creates an empty sketch.
   *
   * @param mapSize greatest size of the map, a power of two; it begins with 8 and grows
   */
  FrequentNames(int mapSize) {
    this.sketch = new ItemsSketch<>(mapSize);
  }

  /** Adds a positive weight. */
  void add(Name name, long weight) {
    long taken = Math.min(weight, MAX_WEIGHT - sketch.getStreamLength());
    if (taken > 0) {
      sketch.update(name, taken);
    }
    unseen = Saturating.sum(unseen, weight - taken);
  }

  /** Adds all weights of another sketch. */
  void addAll(FrequentNames other) {
    if (other.sketch.getStreamLength() > MAX_WEIGHT - sketch.getStreamLength()) {
      unseen = Saturating.sum(unseen, other.sketch.getStreamLength());
    } else {
      sketch.merge(other.sketch);
    }
    unseen = Saturating.sum(unseen, other.unseen);
  }

  /**
   * Adds the weights of those names of another sketch that begin with a prefix, without the prefix.
   */
  void addThoseOf(String prefix, FrequentNames other) {
    other.forEach(
        (name, weight) -> {
          if (name.startsWith(prefix)) {
            add(new Name(name.substring(prefix.length())), weight);
          }
        });
    unseen = Saturating.sum(unseen, other.error());
  }

  /** Passes each name that is held on, with its lower bound, which is positive. */
  void forEach(ObjLongConsumer<String> each) {
    for (ItemsSketch.Row<Name> row : sketch.getFrequentItems(0, ErrorType.NO_FALSE_NEGATIVES)) {
      each.accept(row.getItem().text(), row.getLowerBound());
    }
  }

  /** Returns by how much the sum of any name may be greater than its lower bound. */
  long error() {
    return Saturating.sum(sketch.getMaximumError(), unseen);
  }

  /** Returns how many names are held. */
  int size() {
    return sketch.getNumActiveItems();
  }
}
