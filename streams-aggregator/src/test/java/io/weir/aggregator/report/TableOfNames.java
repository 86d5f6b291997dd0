// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.Freshness;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A table that has some partitions, and knows of them the names of clients alone.
 *
 * @param here the names by partition
 */
record TableOfNames(Map<Integer, List<String>> here) implements UsageTable {
  @Override
  public boolean isHere(int partition) {
    return here.containsKey(partition);
  }

  @Override
  public Freshness refresh(int partition) {
    return Freshness.UP_TO_DATE;
  }

  @Override
  public SortedMap<Integer, Freshness> refreshAll(int partitions) {
    SortedMap<Integer, Freshness> all = new TreeMap<>();
    here.keySet().forEach(partition -> all.put(partition, Freshness.UP_TO_DATE));
    return all;
  }

  @Override
  public Optional<PartitionProgress> progress(int partition) {
    return Optional.empty();
  }

  @Override
  public Optional<PartitionAccuracy> accuracy(int partition) {
    return Optional.empty();
  }

  @Override
  public Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis) {
    return Optional.empty();
  }

  @Override
  public List<String> clients(int partition, String prefix, int max, Runnable onVisit) {
    return here.getOrDefault(partition, List.of());
  }

  @Override
  public void read(
      int partition, UsageKey anyEndpoint, long from, long to, Runnable onVisit, Rows into) {
    throw new UnsupportedOperationException("no figures are requested");
  }
}
