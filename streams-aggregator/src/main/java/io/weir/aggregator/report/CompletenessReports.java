// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says of every partition how far it is counted, whoever holds it. Safe for threads. */
final class CompletenessReports {
  static final String PATH = "/v1/completeness";

  private static final Logger LOG = LoggerFactory.getLogger(CompletenessReports.class);

  private final UsageTable table;
  private final PeerReports peers;
  private final int partitions;

  CompletenessReports(UsageTable table, PeerReports peers, int partitions) {
    this.table = table;
    this.peers = peers;
    this.partitions = partitions;
  }

  /**
   * The answer.
   *
   * @param hereOnly whether other aggregators are not asked, because one of them asks
   */
  Answer answer(boolean hereOnly, Instant now) throws InterruptedException {
    Map<Integer, Object> found = new TreeMap<>();
    Placement placement = Placement.of(partitions, table::owner);
    for (int partition : placement.local()) {
      addLocal(partition, now, found);
    }
    if (!hereOnly) {
      for (JsonNode other : peers.askAll(placement.remote(), PATH).values()) {
        for (JsonNode partition : other.path("partitions")) {
          found.put(partition.path("partition").asInt(), partition);
        }
      }
    }
    List<Integer> missing = new ArrayList<>();
    for (int partition = 0; partition < partitions && !hereOnly; partition++) {
      if (!found.containsKey(partition)) {
        missing.add(partition);
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("as_of", now.toString());
    document.put("partitions", found.values());
    document.put("missing_partitions", missing);
    return Answer.json(200, document);
  }

  private void addLocal(int partition, Instant now, Map<Integer, Object> found) {
    try {
      found.put(
          partition,
          Completeness.ofPartition(partition, table.progress(partition).orElse(null), now));
    } catch (ProblemException unavailable) {
      LOG.debug("partition not readable partition={}", partition, unavailable);
    }
  }
}
