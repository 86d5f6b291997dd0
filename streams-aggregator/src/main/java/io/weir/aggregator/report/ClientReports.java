// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import io.weir.topics.wire.UsageStateCodec;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The report {@code /v1/clients}, which lists the clients with usage in all partitions. It queries
 * other aggregators for their partitions. Thread-safe.
 */
final class ClientReports {
  static final String PATH = "/v1/clients";

  /** Maximum number of names in a response. */
  static final int MAX_CLIENTS = 1_000;

  private static final Logger LOG = LoggerFactory.getLogger(ClientReports.class);

  private final UsageTable table;
  private final Supplier<List<Peer>> others;
  private final PeerReports peers;
  private final int partitions;
  private final ReportTurns turns;

  /**
   * Creates the reports.
   *
   * @param others returns the other aggregators that are currently known
   */
  ClientReports(
      UsageTable table,
      Supplier<List<Peer>> others,
      PeerReports peers,
      int partitions,
      ReportTurns turns) {
    this.turns = turns;
    this.table = table;
    this.others = others;
    this.peers = peers;
    this.partitions = partitions;
  }

  /** The names found and the partitions searched. */
  private static final class Found {
    /**
     * The names in the order of their keys. Each partition returns its first names in this order,
     * so the first names of all partitions together are complete.
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
   * @param origin the origin of the request; a forwarded request is not forwarded again
   * @param caller the caller, for the fair scheduling of reports
   */
  Answer answer(
      String prefix, int limit, String pathAndQuery, RequestOrigin origin, ReportCaller caller)
      throws InterruptedException {
    Found found = here(prefix, limit, caller);
    if (!origin.isForwarded() && found.partitions.size() < partitions) {
      for (JsonNode other : peers.requestAll(others.get(), pathAndQuery, origin)) {
        other.path("clients").forEach(name -> found.clients.add(name.asText()));
        other.path("partitions").forEach(partition -> found.partitions.add(partition.asInt()));
        found.hasMore |= other.path("has_more").asBoolean();
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("clients", found.clients.stream().limit(limit).sorted().toList());
    document.put("has_more", found.hasMore || found.clients.size() > limit);
    if (origin.isForwarded()) {
      document.put("partitions", found.partitions);
    } else {
      document.put("missing_partitions", missing(found.partitions));
    }
    return Answer.json(200, document);
  }

  private List<Integer> missing(Set<Integer> lookedThrough) {
    return IntStream.range(0, partitions)
        .filter(partition -> !lookedThrough.contains(partition))
        .boxed()
        .toList();
  }

  private Found here(String prefix, int limit, ReportCaller caller) throws InterruptedException {
    Found found = new Found();
    SortedMap<Integer, Freshness> fresh = table.refreshAll(partitions);
    try (ReportTurns.Turn turn = turns.begin(caller)) {
      fresh.keySet().forEach(partition -> read(partition, prefix, limit + 1, turn, found));
    }
    return found;
  }

  private void read(int partition, String prefix, int max, ReportTurns.Turn turn, Found found) {
    try {
      found.clients.addAll(table.clients(partition, prefix, max, turn::readRow));
      found.partitions.add(partition);
    } catch (ProblemException unavailable) {
      if (unavailable.problem().missingPartitions().isEmpty()) {
        throw unavailable;
      }
      LOG.debug("cannot read partition={}", partition, unavailable);
    }
  }
}
