// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.Map;

/**
 * The greatest figures of one partition over some windows. Immutable.
 *
 * @param weights by name, encoded as in the keys of the state topic
 * @param increaseError by how much the increases of any name, also of one that is not held, may be
 *     greater than its weight says; 0 if all are exact
 * @param decreaseError the same of decreases
 */
public record PartitionWeights(
    Map<String, Weight> weights, long increaseError, long decreaseError) {

  /**
   * Lower bounds of what a figure has risen and fallen by.
   *
   * @param increase at least 0
   * @param decrease at least 0
   */
  public record Weight(long increase, long decrease) {}

  public PartitionWeights {
    weights = Map.copyOf(weights);
  }
}
