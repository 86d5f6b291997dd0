// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.Map;

/**
 * The greatest figures of one partition, summed over the selected windows. Immutable.
 *
 * @param weights weights by name; names are encoded as in the keys of the state topic
 * @param increaseError maximum difference between the increase of a name and its lower bound; 0 if
 *     all lower bounds are exact. A name without a weight has the lower bound 0
 * @param decreaseError maximum difference between the decrease of a name and its lower bound; 0 if
 *     all lower bounds are exact
 */
public record PartitionWeights(
    Map<String, Weight> weights, long increaseError, long decreaseError) {

  /**
   * Lower bounds of one figure: of its increase and of its decrease.
   *
   * @param increase lower bound of the increase, ≥ 0
   * @param decrease lower bound of the decrease, ≥ 0
   */
  public record Weight(long increase, long decrease) {}

  public PartitionWeights {
    weights = Map.copyOf(weights);
  }
}
