// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The names with the greatest figures of several partitions, in descending order of the figure.
 * Immutable.
 *
 * <p>The order is by the lower bounds. So a name with a large error never precedes a name whose
 * figure is certainly greater. The figure of a name is at least the figure of each later name minus
 * the later name's error.
 *
 * @param rows the names and their figures
 * @param hasMore whether other known names may have positive figures
 * @param unlistedAtMost upper bound of the figure of every name that is not in {@code rows}
 */
public record RankedNames(List<Row> rows, boolean hasMore, long unlistedAtMost) {
  private static final Comparator<Row> GREATEST_FIRST =
      Comparator.comparingLong(Row::lowerBound)
          .thenComparingLong(Row::upperBound)
          .reversed()
          .thenComparing(Row::name);

  /**
   * One name and its figure.
   *
   * @param name the name, encoded as in the keys of the state topic
   * @param lowerBound lower bound of the figure; can be negative if the figure decreased
   * @param upperBound upper bound of the figure; positive
   */
  public record Row(String name, long lowerBound, long upperBound) {
    /** Returns an estimate of the figure, which is the middle between the bounds, rounded down. */
    public long estimate() {
      return lowerBound + error() / 2;
    }

    /** Returns the difference between the bounds. The difference is 0 if the figure is exact. */
    public long error() {
      long error = upperBound - lowerBound;
      return error < 0 ? Long.MAX_VALUE : error;
    }
  }

  public RankedNames {
    rows = List.copyOf(rows);
  }

  /**
   * Ranks names that occur in only one partition each, such as clients.
   *
   * @param limit maximum number of rows
   */
  public static RankedNames ofSeparate(Collection<PartitionWeights> partitions, int limit) {
    List<Row> rows = new ArrayList<>();
    long notHeldAtMost = 0;
    for (PartitionWeights partition : partitions) {
      addRows(partition, rows);
      notHeldAtMost = Math.max(notHeldAtMost, partition.increaseError());
    }
    return of(rows, limit, notHeldAtMost);
  }

  /**
   * Ranks names that may occur in several partitions, such as endpoints. The figure of a name is
   * the sum over the partitions.
   *
   * @param limit maximum number of rows
   */
  public static RankedNames ofSums(Collection<PartitionWeights> partitions, int limit) {
    Map<String, PartitionWeights.Weight> sums = new HashMap<>();
    long increaseError = 0;
    long decreaseError = 0;
    for (PartitionWeights partition : partitions) {
      partition.weights().forEach((name, weight) -> sums.merge(name, weight, RankedNames::sum));
      increaseError = SaturatingSums.sum(increaseError, partition.increaseError());
      decreaseError = SaturatingSums.sum(decreaseError, partition.decreaseError());
    }
    List<Row> rows = new ArrayList<>();
    addRows(new PartitionWeights(sums, increaseError, decreaseError), rows);
    return of(rows, limit, increaseError);
  }

  private static PartitionWeights.Weight sum(
      PartitionWeights.Weight one, PartitionWeights.Weight other) {
    return new PartitionWeights.Weight(
        SaturatingSums.sum(one.increase(), other.increase()),
        SaturatingSums.sum(one.decrease(), other.decrease()));
  }

  private static void addRows(PartitionWeights weights, List<Row> rows) {
    weights
        .weights()
        .forEach(
            (name, weight) -> {
              long lower =
                  SaturatingSums.least(
                      weight.increase(),
                      SaturatingSums.sum(weight.decrease(), weights.decreaseError()));
              long upper =
                  SaturatingSums.greatest(
                      SaturatingSums.sum(weight.increase(), weights.increaseError()),
                      weight.decrease());
              if (upper > 0) {
                rows.add(new Row(name, lower, upper));
              }
            });
  }

  private static RankedNames of(List<Row> rows, int limit, long notHeldAtMost) {
    rows.sort(GREATEST_FIRST);
    List<Row> listed = rows.subList(0, Math.min(limit, rows.size()));
    long unlistedAtMost = notHeldAtMost;
    for (Row unlisted : rows.subList(listed.size(), rows.size())) {
      unlistedAtMost = Math.max(unlistedAtMost, unlisted.upperBound());
    }
    return new RankedNames(listed, listed.size() < rows.size(), unlistedAtMost);
  }
}
