// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.kafka.streams.state.HostInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The access to all partitions, for reports about more than one client. Such a report reads the
 * partitions on this instance from the table, and queries the other aggregators for the remaining
 * partitions. Thread-safe.
 *
 * @param others returns the other aggregators that are currently known
 * @param partitions number of partitions
 */
record AllPartitions(
    UsageTable table, Supplier<List<HostInfo>> others, PeerReports peers, int partitions) {
  private static final Logger LOG = LoggerFactory.getLogger(AllPartitions.class);

  /** Refreshes the partitions on this instance. Returns their freshness. */
  SortedMap<Integer, Freshness> refresh() throws InterruptedException {
    return table.refreshAll(partitions);
  }

  /** Reads each partition. Skips a partition that is no longer on this instance. */
  void read(SortedMap<Integer, Freshness> here, BiConsumer<Integer, Freshness> reader) {
    here.forEach(
        (partition, freshness) -> {
          try {
            reader.accept(partition, freshness);
          } catch (ProblemException unavailable) {
            if (unavailable.problem().missingPartitions().isEmpty()) {
              throw unavailable;
            }
            LOG.debug("cannot read partition={}", partition, unavailable);
          }
        });
  }

  /**
   * Requests the documents of the other aggregators if partitions are missing. Omits aggregators
   * that do not respond within a few seconds.
   */
  List<JsonNode> queryOthers(Set<Integer> found, String pathAndQuery, ReportCaller caller)
      throws InterruptedException {
    return found.size() < partitions
        ? peers.requestAll(others.get(), pathAndQuery, caller)
        : List.of();
  }

  /** Returns the partitions that are not found. */
  List<Integer> missing(Set<Integer> found) {
    return IntStream.range(0, partitions).filter(one -> !found.contains(one)).boxed().toList();
  }
}
