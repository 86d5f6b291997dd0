// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.correction.Correction.Cause;
import io.weir.testing.Await;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import io.weir.topics.wire.PartitionAccuracyCodec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The accuracy of a fleet of two, over a real broker. */
final class AccuracyIT {
  private static final int PARTITIONS = 4;

  @TempDir Path folder;

  @Test
  void accuracy_ofTwoAggregators_isSummed_evenIfOneIsDown() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Reports reports = new Reports(broker, PARTITIONS, folder)) {
      JsonNode nothing = Reports.whole(reports.one, "/v1/accuracy");
      assertEquals(0, nothing.path("fleet").path("decided").asLong());
      assertTrue(nothing.path("fleet").path("wrong_percent").isNull());
      assertTrue(nothing.path("correction_delay_ms").path("p50").isNull());

      for (Aggregator aggregator : reports.both()) {
        List<JsonNode> told = new ArrayList<>();
        Await.until(
            "all partitions are reported",
            () -> {
              send(broker);
              told.add(0, Reports.document(aggregator, "/v1/accuracy"));
              return told.get(0).path("fleet").path("decided").asLong() == 400_000;
            });
        assertDocument(told.get(0));
      }
      Await.until(
          "each exposes its own figures in its metrics",
          () -> {
            send(broker);
            return judged(reports.one) + judged(reports.two) == 400_000;
          });
      assertEquals(400, Reports.get(reports.one, "/v1/accuracy?scope=local").statusCode());

      reports.two.close();
      Await.until(
          "the copies of the other's partitions are reported",
          () -> {
            send(broker);
            return Reports.document(reports.one, "/v1/accuracy").at("/fleet/decided").asLong()
                == 400_000;
          });
      Reports.whole(reports.one, "/v1/accuracy");
    }
  }

  /**
   * Publishes repeatedly, because the aggregator also publishes its own records, that nothing was
   * judged.
   */
  private static void send(Broker broker) {
    for (int partition = 0; partition < PARTITIONS; partition++) {
      broker.sendState(
          partition,
          PartitionAccuracyCodec.TYPE,
          PartitionAccuracyCodec.key(partition),
          PartitionAccuracyCodec.encode(accuracy(partition)));
    }
    broker.flush();
  }

  private static void assertDocument(JsonNode document) {
    JsonNode fleet = document.path("fleet");
    assertEquals(8, fleet.path("wrongly_admitted").asLong(), document.toString());
    assertEquals(4, fleet.path("wrongly_denied").asLong());
    assertEquals(12, fleet.path("wrong").asLong());
    assertEquals(0.003, fleet.path("wrong_percent").asDouble(), 1e-9);
    JsonNode policy = document.path("policies").path(0);
    assertEquals("burst", policy.path("policy").asText());
    assertEquals(400_000, policy.path("decided").asLong());
    assertEquals(20, document.path("corrections").path("fresh-epoch").asLong());
    assertEquals(20, document.path("corrections").path("total").asLong());
    assertEquals(100, document.path("correction_delay_ms").path("p50").asLong());
    assertEquals(4, document.path("correction_delay_ms").path("count").asLong());
    assertEquals(0, document.path("missing_partitions").size());
    assertEquals("1970-01-01T00:00:01.003Z", document.path("as_of").asText());
  }

  /** Returns an aggregator's metrics of its own partitions. */
  private static long judged(Aggregator aggregator) throws Exception {
    return Reports.get(aggregator, "/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith("weir_decisions_judged_total{policy=\"burst\"}"))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.indexOf(' ') + 1)))
        .sum();
  }

  private static PartitionAccuracy accuracy(int partition) {
    List<Long> delays =
        new ArrayList<>(Collections.nCopies(PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1, 0L));
    delays.set(2, 1L); // up to 100 ms
    return new PartitionAccuracy(
        partition,
        1_000 + partition,
        Map.of("burst", new Figures(100_000, 2, 1, 0, 0, 0)),
        Map.of(Cause.FRESH_EPOCH, 5L),
        delays);
  }
}
