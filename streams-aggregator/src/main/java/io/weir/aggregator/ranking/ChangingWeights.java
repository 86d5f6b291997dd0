// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The names with the greatest figures, where figures also fall. A sketch takes positive weights
 * only, so increases and decreases have one each: the figure of a name is the difference of both,
 * and each bound of it the difference of opposite bounds. Not thread-safe.
 */
final class ChangingWeights {
  private final int mapSize;
  private final FrequentNames increases;

  /** Created by the first decrease, since most windows have none. */
  private @Nullable FrequentNames decreases;

  ChangingWeights(int mapSize) {
    this.mapSize = mapSize;
    this.increases = new FrequentNames(mapSize);
  }

  /** Adds a change of a name's figure; negative for a decrease. */
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

  /** Adds all changes of another one. */
  void addAll(ChangingWeights other) {
    increases.addAll(other.increases);
    if (other.decreases != null) {
      decreases().addAll(other.decreases);
    }
  }

  /**
   * Adds the changes of those names of another one that begin with a prefix, without the prefix.
   */
  void addThoseOf(String prefix, ChangingWeights other) {
    increases.addThoseOf(prefix, other.increases);
    if (other.decreases != null) {
      decreases().addThoseOf(prefix, other.decreases);
    }
  }

  /** Returns how many names are held, of increases and decreases. */
  int size() {
    return increases.size() + (decreases == null ? 0 : decreases.size());
  }

  /**
   * Returns the figures of a partition.
   *
   * @param prefix prefix of the names that are returned, as they are encoded in keys
   */
  PartitionWeights weights(String prefix) {
    Map<String, PartitionWeights.Weight> weights = new HashMap<>();
    increases.forEach((name, sum) -> weights.put(name, new PartitionWeights.Weight(sum, 0)));
    if (decreases != null) {
      // also of names whose increases are not held here, but perhaps in another partition
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
