// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.topics.model.UsagePosition;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The spans that the log holds while Kafka is unavailable. */
final class CallSpansTest {
  private static final Tracer TRACER = OpenTelemetry.noop().getTracer("test");

  private static final List<Recorded> JOURNALED =
      List.of(new Recorded.Durable(Durability.JOURNALED, new UsagePosition(0, "node-1", 1, 1)));

  private static final List<Recorded> REFUSED =
      List.of(new Recorded.Refused(Recorded.Reason.FULL, "no room"));

  private final AtomicInteger awaited = new AtomicInteger();

  private CallSpans recording() {
    CallSpans spans = new CallSpans(TRACER, Context.root(), -1, null, awaited, 1_000);
    spans.deciding();
    spans.recording();
    return spans;
  }

  /** Each line of a batch is held in memory until Kafka has it. */
  @Test
  void whenAcked_ofABatch_countsEachOfItsCalls() {
    Runnable acked = Objects.requireNonNull(recording().whenAcked(999));
    assertNotNull(recording().whenAcked(1));
    assertNull(recording().whenAcked(1));
    assertEquals(1_000, awaited.get());

    acked.run();
    acked.run(); // told once

    assertEquals(1, awaited.get());
  }

  /**
   * A gRPC caller that disconnects while its call is written does not remove the spans that the log
   * holds.
   */
  @Test
  void end_whileACallIsWritten_stillCountsIt() {
    CallSpans gone = recording();
    Runnable acked = Objects.requireNonNull(gone.whenAcked(1));

    gone.end();
    gone.recorded(JOURNALED);
    assertEquals(1, awaited.get());

    acked.run();
    assertEquals(0, awaited.get());
  }

  @Test
  void callsThatAreNotKept_areNotAwaited() {
    CallSpans refused = recording();
    assertNotNull(refused.whenAcked(3));
    refused.recorded(REFUSED);
    assertEquals(0, awaited.get());

    CallSpans goneAndRefused = recording();
    assertNotNull(goneAndRefused.whenAcked(3));
    goneAndRefused.end();
    goneAndRefused.recorded(REFUSED);
    assertEquals(0, awaited.get());

    CallSpans failed = recording();
    assertNotNull(failed.whenAcked(3));
    failed.notRecorded();
    assertEquals(0, awaited.get());
  }
}
