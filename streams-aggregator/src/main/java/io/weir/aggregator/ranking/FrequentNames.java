// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.function.ObjLongConsumer;
import org.apache.datasketches.frequencies.ErrorType;
import org.apache.datasketches.frequencies.ItemsSketch;

/**
 * A sketch of the names with the greatest sums of weights. A sketch has a lower bound of each sum,
 * and the sums cannot overflow. This class uses the frequent-items sketch of Apache DataSketches
 * (D. Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in Data
 * Streams", 2017).
 *
 * <p>The sum of a name is at least its lower bound, and at most its lower bound plus {@link
 * #error}. A name that is not in the sketch has the lower bound 0. The error is 0 while the names
 * fill at most three quarters of the map. Above this number of names, the error is at most 3.5 /
 * map size × the sum of all weights. Not thread-safe.
 */
final class FrequentNames {
  /** Maximum total weight in a sketch. The sum of two totals is within int64. */
  private static final long MAX_WEIGHT = 1L << 61;

  private final ItemsSketch<Name> sketch;

  /**
   * Total weight that was not added to the sketch. This weight is part of the error, because all of
   * it could belong to one name.
   */
  private long unseen;

  /**
   * Creates an empty sketch.
   *
   * @param mapSize maximum size of the map, a power of two; the initial size is 8
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
    unseen = SaturatingSums.sum(unseen, weight - taken);
  }

  /** Adds all weights of another sketch. */
  void addAll(FrequentNames other) {
    if (other.sketch.getStreamLength() > MAX_WEIGHT - sketch.getStreamLength()) {
      unseen = SaturatingSums.sum(unseen, other.sketch.getStreamLength());
    } else {
      sketch.merge(other.sketch);
    }
    unseen = SaturatingSums.sum(unseen, other.unseen);
  }

  /**
   * Adds the weights of another sketch, but only of names that begin with a prefix. The method
   * removes the prefix from each added name.
   */
  void addWithPrefix(String prefix, FrequentNames other) {
    other.forEach(
        (name, weight) -> {
          if (name.startsWith(prefix)) {
            add(new Name(name.substring(prefix.length())), weight);
          }
        });
    unseen = SaturatingSums.sum(unseen, other.error());
  }

  /**
   * Calls an action with each name in the sketch and the name's lower bound. The lower bound is
   * positive.
   */
  void forEach(ObjLongConsumer<String> each) {
    for (ItemsSketch.Row<Name> row : sketch.getFrequentItems(0, ErrorType.NO_FALSE_NEGATIVES)) {
      each.accept(row.getItem().text(), row.getLowerBound());
    }
  }

  /** Returns the maximum difference between the sum of a name and its lower bound. */
  long error() {
    return SaturatingSums.sum(sketch.getMaximumError(), unseen);
  }

  /** Returns the number of names in the sketch. */
  int size() {
    return sketch.getNumActiveItems();
  }
}
