// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A summary of the names with the greatest figures, for figures that can also decrease. A sketch
 * accepts only positive weights. So one sketch sums the increases of each name, and another sketch
 * sums the decreases. The figure of a name is its increases minus its decreases. The lower bound of
 * a figure is the lower bound of the increases minus the upper bound of the decreases. The upper
 * bound of a figure is the upper bound of the increases minus the lower bound of the decreases. Not
 * thread-safe.
 */
final class ChangingWeights {
  private final int mapSize;
  private final FrequentNames increases;

  /**
   * The sketch of decreases. The first decrease creates this sketch, because most windows have no
   * decrease.
   */
  private @Nullable FrequentNames decreases;

  ChangingWeights(int mapSize) {
    this.mapSize = mapSize;
    this.increases = new FrequentNames(mapSize);
  }

  /** Adds a change of a name's figure. A negative change is a decrease. */
  void add(Name name, long change) {
    if (change > 0) {
      increases.add(name, change);
    } else if (change < 0) {
      decreases().add(name, -change);
    }
  }

  private FrequentNames decreases() {
    if (decreases == null) {
      decreases = new FrequentNames(mapSize);
    }
    return decreases;
  }

  /** Adds all changes of another instance. */
  void addAll(ChangingWeights other) {
    increases.addAll(other.increases);
    if (other.decreases != null) {
      decreases().addAll(other.decreases);
    }
  }

  /**
   * Adds the changes of another instance, but only of names that begin with a prefix. The method
   * removes the prefix from each added name.
   */
  void addWithPrefix(String prefix, ChangingWeights other) {
    increases.addWithPrefix(prefix, other.increases);
    if (other.decreases != null) {
      decreases().addWithPrefix(prefix, other.decreases);
    }
  }

  /**
   * Returns the total number of names in the two sketches. A name in both sketches counts twice.
   */
  int size() {
    return increases.size() + (decreases == null ? 0 : decreases.size());
  }

  /**
   * Returns the names and their bounds.
   *
   * @param prefix prefix of the names to return, encoded as in the keys of the state topic
   */
  PartitionWeights weights(String prefix) {
    Map<String, PartitionWeights.Weight> weights = new HashMap<>();
    increases.forEach((name, sum) -> weights.put(name, new PartitionWeights.Weight(sum, 0)));
    if (decreases != null) {
      // includes names with increases only in another partition
      decreases.forEach(
          (name, sum) ->
              weights.merge(
                  name,
                  new PartitionWeights.Weight(0, sum),
                  (up, down) -> new PartitionWeights.Weight(up.increase(), down.decrease())));
    }
    weights.keySet().removeIf(name -> !name.startsWith(prefix));
    return new PartitionWeights(
        weights, increases.error(), decreases == null ? 0 : decreases.error());
  }
}
