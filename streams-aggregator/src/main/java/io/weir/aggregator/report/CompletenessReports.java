// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.table.Freshness;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The report {@code /v1/completeness}, which shows the progress of all partitions. It queries other
 * aggregators for their partitions. Thread-safe.
 */
final class CompletenessReports {
  static final String PATH = "/v1/completeness";

  private final AllPartitions partitions;

  CompletenessReports(AllPartitions partitions) {
    this.partitions = partitions;
  }

  /**
   * Returns the response to a request.
   *
   * @param origin the origin of the request; a forwarded request is not forwarded again
   */
  Answer answer(RequestOrigin origin, Instant now) throws InterruptedException {
    Map<Integer, Object> found = new TreeMap<>();
    partitions.read(
        partitions.refresh(),
        (partition, freshness) -> {
          Map<String, Object> block =
              Completeness.ofPartition(
                  partition, partitions.table().progress(partition).orElse(null), now);
          block.put("up_to_date", freshness == Freshness.UP_TO_DATE);
          found.put(partition, block);
        });
    if (!origin.isForwarded()) {
      for (JsonNode other : partitions.queryOthers(found.keySet(), PATH, origin)) {
        for (JsonNode partition : other.path("partitions")) {
          found.putIfAbsent(partition.path("partition").asInt(), partition);
        }
      }
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("as_of", now.truncatedTo(ChronoUnit.MILLIS).toString());
    document.put("partitions", found.values());
    document.put(
        "missing_partitions",
        origin.isForwarded() ? List.of() : partitions.missing(found.keySet()));
    return Answer.json(200, document);
  }
}
