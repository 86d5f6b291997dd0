// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import io.weir.topics.wire.UsageStateCodec;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The report {@code /v1/clients}, which lists the clients with usage in all partitions. It queries
 * other aggregators for their partitions. Thread-safe.
 */
final class ClientReports {
  static final String PATH = "/v1/clients";

  /** Maximum number of names in a response. */
  static final int MAX_CLIENTS = 1_000;

  private final AllPartitions partitions;
  private final ReportTurns turns;

  ClientReports(AllPartitions partitions, ReportTurns turns) {
    this.partitions = partitions;
    this.turns = turns;
  }

  /** The names found and the partitions searched. */
  private static final class Found {
    /**
     * The names in the order of their keys. Each partition returns its first names in this order.
     * So the first names of all partitions together are complete.
     */
    final SortedSet<String> clients =
        new TreeSet<>(Comparator.comparing((String name) -> UsageStateCodec.prefix(name)));

    final SortedSet<Integer> partitions = new TreeSet<>();
    boolean hasMore;
  }

  /**
   * Returns the first names that begin with a prefix.
   *
   * @param pathAndQuery path and query of the request, which is forwarded to other aggregators
   * @param caller the caller; a forwarded request is not forwarded again
   */
  Answer answer(String prefix, int limit, String pathAndQuery, ReportCaller caller)
      throws InterruptedException {
    Found found = here(prefix, limit, caller);
    if (!caller.isForwarded()) {
      for (JsonNode other : partitions.queryOthers(found.partitions, pathAndQuery, caller)) {
        other.path("clients").forEach(name -> found.clients.add(name.asText()));
        other.path("partitions").forEach(partition -> found.partitions.add(partition.asInt()));
        found.hasMore |= other.path("has_more").asBoolean();
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("clients", found.clients.stream().limit(limit).sorted().toList());
    document.put("has_more", found.hasMore || found.clients.size() > limit);
    if (caller.isForwarded()) {
      document.put("partitions", found.partitions);
    } else {
      document.put("missing_partitions", partitions.missing(found.partitions));
    }
    return Answer.json(200, document);
  }

  private Found here(String prefix, int limit, ReportCaller caller) throws InterruptedException {
    Found found = new Found();
    SortedMap<Integer, Freshness> here = partitions.refresh();
    try (ReportTurns.Turn turn = turns.begin(caller)) {
      partitions.read(
          here,
          (partition, freshness) -> {
            found.clients.addAll(
                partitions.table().clients(partition, prefix, limit + 1, turn::readRow));
            found.partitions.add(partition);
          });
    }
    return found;
  }
}
