// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.proto.trace.v1.Span;
import io.weir.ingest.trace.SpanCollector;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The trace of a call that waits for Kafka, on a node that stops at once. */
final class AckedTraceIT {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";

  private static Span named(List<Span> spans, String name) {
    return spans.stream().filter(span -> span.getName().equals(name)).findFirst().orElseThrow();
  }

  @Test
  void close_afterAnAckedCheck_hasSentItsTrace(@TempDir Path folder) throws Exception {
    try (SpanCollector collector = SpanCollector.start()) {
      try (RateLimitNode node =
          RateLimitNode.start(
              folder,
              "policies: []\n",
              Map.of("WEIR_TRACES_ENDPOINT", collector.endpoint(), "WEIR_DURABILITY", "acked"))) {
        HttpRequest request =
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:" + node.ingest.httpPort() + "/v1/check"))
                .header("traceparent", "00-" + TRACE + "-b7ad6b7169203331-01")
                .POST(
                    HttpRequest.BodyPublishers.ofString(
                        "{\"client\":\"acme\",\"endpoint\":\"GET /any\"}"))
                .build();
        HttpClient http = HttpClient.newHttpClient();
        assertEquals(200, http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode());
      }

      // on a busy machine the stop may go on before the collector has answered
      Await.until("the trace has come", () -> collector.ofTrace(TRACE).size() >= 4);
      List<Span> spans = collector.ofTrace(TRACE);
      assertEquals(4, spans.size(), spans::toString);
      Span record = named(spans, "record");
      Span publish = named(spans, "publish");
      assertEquals("acked", SpanCollector.text(record.getAttributesList(), "weir.recorded"));
      assertEquals(record.getStartTimeUnixNano(), publish.getStartTimeUnixNano());
      assertTrue(publish.getEndTimeUnixNano() >= publish.getStartTimeUnixNano());
    }
  }
}
