// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The report {@code /v1/completeness}, which shows the progress of all partitions. It queries other
 * aggregators for their partitions. Thread-safe.
 */
final class CompletenessReports {
  static final String PATH = "/v1/completeness";

  private static final Logger LOG = LoggerFactory.getLogger(CompletenessReports.class);

  private final UsageTable table;
  private final Instances instances;
  private final PeerReports peers;
  private final int partitions;

  CompletenessReports(UsageTable table, Instances instances, PeerReports peers, int partitions) {
    this.table = table;
    this.instances = instances;
    this.peers = peers;
    this.partitions = partitions;
  }

  /**
   * Returns the response to a request.
   *
   * @param origin the origin of the request; a forwarded request is not forwarded again
   */
  Answer answer(RequestOrigin origin, Instant now) throws InterruptedException {
    Map<Integer, Object> found = new TreeMap<>();
    table
        .refreshAll(partitions)
        .forEach((partition, freshness) -> addLocal(partition, freshness, now, found));
    if (!origin.isForwarded() && found.size() < partitions) {
      for (JsonNode other : peers.requestAll(instances.peers(), PATH, origin)) {
        for (JsonNode partition : other.path("partitions")) {
          found.putIfAbsent(partition.path("partition").asInt(), partition);
        }
      }
    }
    List<Integer> missing = new ArrayList<>();
    for (int partition = 0; partition < partitions && !origin.isForwarded(); partition++) {
      if (!found.containsKey(partition)) {
        missing.add(partition);
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("as_of", now.truncatedTo(ChronoUnit.MILLIS).toString());
    document.put("partitions", found.values());
    document.put("missing_partitions", missing);
    return Answer.json(200, document);
  }

  private void addLocal(
      int partition, Freshness freshness, Instant now, Map<Integer, Object> found) {
    try {
      Map<String, Object> block =
          Completeness.ofPartition(partition, table.progress(partition).orElse(null), now);
      block.put("up_to_date", freshness == Freshness.UP_TO_DATE);
      found.put(partition, block);
    } catch (ProblemException unavailable) {
      LOG.debug("cannot read partition={}", partition, unavailable);
    }
  }
}
