// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.testing.Await;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which requests are traced, and how their spans are sent to an HTTP collector. */
final class TracesIT {
  private static final String SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  private static final String UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private SpanCollector collector;

  @BeforeEach
  void start() throws Exception {
    collector = SpanCollector.start();
  }

  @AfterEach
  void stop() {
    collector.close();
  }

  private Traces traces(double sampling, int maxRate) {
    Traces traces =
        Traces.create(
            new TraceSettings(URI.create(collector.endpoint()), sampling, maxRate, Map.of()),
            "node-1",
            registry);
    traces.begin();
    return traces;
  }

  private static @Nullable RequestTrace request(Traces traces, String... parents) {
    return traces.beginHttp(
        name -> name.equals("traceparent") ? List.of(parents) : List.of(),
        "POST",
        "/v1/check",
        false,
        System.nanoTime());
  }

  private static RequestTrace traced(Traces traces) {
    return Objects.requireNonNull(request(traces));
  }

  private double spans(String outcome) {
    return registry.get("weir.traces.spans").tag("outcome", outcome).counter().count();
  }

  private double requests(String outcome) {
    return registry.get("weir.traces.requests").tag("outcome", outcome).counter().count();
  }

  @Test
  void begin_byChance_tracesTheShare() {
    try (Traces none = traces(0, 10_000);
        Traces half = traces(0.5, 10_000);
        Traces all = traces(1, 10_000)) {
      int ofHalf = 0;
      for (int i = 0; i < 1_000; i++) {
        assertNull(request(none));
        ofHalf += request(half) == null ? 0 : 1;
        assertNotNull(request(all));
      }

      // outside once in 10^9 runs
      assertTrue(ofHalf > 400 && ofHalf < 600, "traced " + ofHalf);
    }
  }

  @Test
  void begin_withAParent_followsIt() {
    try (Traces none = traces(0, 10_000);
        Traces all = traces(1, 10_000)) {
      assertNotNull(request(none, SAMPLED));
      assertNull(request(all, UNSAMPLED));
      assertNotNull(request(all, "nonsense"));
      assertNull(request(none, "nonsense"));
    }
  }

  @Test
  void begin_callersThatForceTraces_areBounded() {
    try (Traces traces = traces(0, 2)) {
      for (int i = 0; i < 1_000; i++) {
        RequestTrace unused = request(traces, SAMPLED);
      }

      assertEquals(1_000, requests("traced") + requests("over-rate"));
      assertTrue(requests("traced") < 100, "traced " + requests("traced"));
    }
  }

  @Test
  void begin_beforeTheNodeHasStarted_tracesNothing() {
    Traces traces =
        Traces.create(
            new TraceSettings(URI.create(collector.endpoint()), 1, 100, Map.of()),
            "node-1",
            registry);
    try (traces) {
      assertFalse(traces.isOn());
      assertNull(request(traces, SAMPLED));
    }
  }

  @Test
  void close_sendsWhatIsHeld() throws Exception {
    Traces traces = traces(1, 100);
    traced(traces).endHttp(200);

    traces.close();

    // on a busy machine the stop may go on before the collector has answered
    Await.until("the span is sent", () -> spans("sent") == 1);
    assertEquals(1, collector.spans().size());
    assertEquals("weir-ingest", collector.resource("service.name"));
    assertEquals("node-1", collector.resource("service.instance.id"));
  }

  @Test
  void close_whileTheCollectorHangs_doesNotWaitForIt() {
    collector.hang();
    Traces traces = traces(1, 100);
    traced(traces).endHttp(200);

    traces.close();

    assertEquals(0, spans("sent") + spans("failed"));
  }

  @Test
  void spans_beyondTheBound_areDroppedAndCounted() throws Exception {
    collector.hang();
    int count = BoundedSpans.MAX_HELD_SPANS + 500;
    try (Traces traces = traces(1, 10_000)) {
      for (int i = 0; i < count; i++) {
        RequestTrace request = traced(traces);
        request.endHttp(200);
        request.endHttp(500); // told once
      }

      assertTrue(spans("dropped") >= 500, "dropped " + spans("dropped"));
      collector.answer();
      Await.until(
          "each span is sent, failed or dropped",
          () -> spans("sent") + spans("failed") + spans("dropped") == count);
      assertTrue(spans("sent") > 0, "sent " + spans("sent"));
    }
  }
}
