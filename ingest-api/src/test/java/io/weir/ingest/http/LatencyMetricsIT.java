// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Durations of calls and sizes of batches are exported with their percentiles. */
final class LatencyMetricsIT {
  private static final int CALLS = 50;

  @TempDir private Path folder;

  @Test
  void metrics_afterCalls_showTheLatencyOfEachPart() throws Exception {
    try (TestNode node = TestNode.start(folder, Map.of())) {
      for (int i = 0; i < CALLS; i++) {
        assertEquals(
            200, node.send(node.check("{\"client\":\"a\",\"endpoint\":\"GET /x\"}")).statusCode());
      }
      // a request ends a moment after its caller has the answer
      Await.until("every end", () -> node.metric("weir_request_seconds_count") == CALLS);

      assertEquals(CALLS, node.metric("weir_decision_seconds_count"));
      assertEquals(CALLS, node.metric("weir_log_write_seconds_count"));
      for (String part : List.of("weir_decision", "weir_log_write", "weir_request")) {
        double median = node.metric(part + "_seconds{quantile=\"0.5\"}");
        assertTrue(median > 0, part);
        assertTrue(node.metric(part + "_seconds{quantile=\"0.99\"}") >= median, part);
        assertTrue(node.metric(part + "_seconds{quantile=\"0.999\"}") >= median, part);
      }
      assertTrue(
          node.metric("weir_request_seconds_sum")
              >= node.metric("weir_decision_seconds_sum")
                  + node.metric("weir_log_write_seconds_sum"));
      Await.until("every batch", () -> node.metric("weir_log_batch_calls_sum") == CALLS);
      assertEquals(
          node.metric("weir_log_sealed_batches_total"), node.metric("weir_log_batch_calls_count"));
      assertTrue(node.metric("weir_log_batch_bytes_sum") > 0);
      assertTrue(node.metric("weir_log_group_commits_total") > 0);
      assertTrue(node.metric("weir_cache_checks_sent_total") >= CALLS);
      assertTrue(node.metric("weir_cache_batches_total{max_checks=\"1\"}") > 0);
    }
  }
}
