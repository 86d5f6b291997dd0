// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.Map;

/**
 * The greatest figures of one partition, summed over some windows. Immutable.
 *
 * @param weights weights by name; names are encoded as in the keys of the state topic
 * @param increaseError maximum by which the increase of any name exceeds its weight, or 0 for a
 *     name without a weight; 0 if all are exact
 * @param decreaseError the same for decreases
 */
public record PartitionWeights(
    Map<String, Weight> weights, long increaseError, long decreaseError) {

  /**
   * Lower bounds of the increase and decrease of a figure.
   *
   * @param increase lower bound of the increase, ≥ 0
   * @param decrease lower bound of the decrease, ≥ 0
   */
  public record Weight(long increase, long decrease) {}

  public PartitionWeights {
    weights = Map.copyOf(weights);
  }
}
