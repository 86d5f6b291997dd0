// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The names with the greatest figures over some partitions, the greatest first. Immutable.
 *
 * <p>They are in the order of their lower bounds, so a name whose figure is known badly does not
 * stand before one that certainly has more: each has at least the figure of any later one, less
 * that one's error.
 *
 * @param rows the names
 * @param hasMore whether there are further names with figures that may be positive
 * @param unlistedAtMost upper bound for the figure of any name that is not among the rows
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
   * @param lowerBound the figure is at least this; may be negative if it also fell
   * @param upperBound the figure is at most this; positive
   */
  public record Row(String name, long lowerBound, long upperBound) {
    /** Returns the estimate: the middle of the bounds, rounded down. */
    public long estimate() {
      return lowerBound + error() / 2;
    }

    /** Returns the difference of the bounds; 0 if the figure is exact. */
    public long error() {
      long error = upperBound - lowerBound;
      return error < 0 ? Long.MAX_VALUE : error;
    }
  }

  public RankedNames {
    rows = List.copyOf(rows);
  }

  /**
   * Ranks names of which each is in one partition alone, as a client is.
   *
   * @param limit most rows
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
   * Ranks names that may each have a part of their figure in every partition, as an endpoint has.
   *
   * @param limit most rows
   */
  public static RankedNames ofSums(Collection<PartitionWeights> partitions, int limit) {
    Map<String, PartitionWeights.Weight> sums = new HashMap<>();
    long increaseError = 0;
    long decreaseError = 0;
    for (PartitionWeights partition : partitions) {
      partition.weights().forEach((name, weight) -> sums.merge(name, weight, RankedNames::sum));
      increaseError = Saturating.sum(increaseError, partition.increaseError());
      decreaseError = Saturating.sum(decreaseError, partition.decreaseError());
    }
    List<Row> rows = new ArrayList<>();
    addRows(new PartitionWeights(sums, increaseError, decreaseError), rows);
    return of(rows, limit, increaseError);
  }

  private static PartitionWeights.Weight sum(
      PartitionWeights.Weight one, PartitionWeights.Weight other) {
    return new PartitionWeights.Weight(
        Saturating.sum(one.increase(), other.increase()),
        Saturating.sum(one.decrease(), other.decrease()));
  }

  private static void addRows(PartitionWeights weights, List<Row> rows) {
    weights
        .weights()
        .forEach(
            (name, weight) -> {
              long lower =
                  Saturating.least(
                      weight.increase(),
                      Saturating.sum(weight.decrease(), weights.decreaseError()));
              long upper =
                  Saturating.greatest(
                      Saturating.sum(weight.increase(), weights.increaseError()),
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
