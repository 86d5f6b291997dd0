// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
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
    Map<UsageTable.Owner.Remote, List<Integer>> elsewhere = new LinkedHashMap<>();
    for (int partition = 0; partition < partitions; partition++) {
      UsageTable.Owner owner = table.owner(partition);
      if (owner instanceof UsageTable.Owner.Local) {
        addLocal(partition, now, found);
      } else if (owner instanceof UsageTable.Owner.Remote remote) {
        elsewhere.computeIfAbsent(remote, none -> new ArrayList<>()).add(partition);
      }
    }
    if (!hereOnly) {
      for (UsageTable.Owner.Remote owner : elsewhere.keySet()) {
        addRemote(owner, found);
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

  private void addRemote(UsageTable.Owner.Remote owner, Map<Integer, Object> found)
      throws InterruptedException {
    try {
      for (JsonNode partition : peers.completeness(owner)) {
        found.put(partition.path("partition").asInt(), partition);
      }
    } catch (IOException unreachable) {
      LOG.warn("aggregator not reachable host={} port={}", owner.host(), owner.port(), unreachable);
    }
  }
}
