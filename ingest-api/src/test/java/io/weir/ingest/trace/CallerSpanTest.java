// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class CallerSpanTest {
  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String SPAN = "b7ad6b7169203331";

  private static Context read(Map<String, List<String>> headers) {
    return CallerSpan.read(name -> headers.getOrDefault(name, List.of()));
  }

  private static Context read(String traceparent) {
    return read(Map.of("traceparent", List.of(traceparent)));
  }

  private static SpanContext span(Context context) {
    return Span.fromContext(context).getSpanContext();
  }

  @Test
  void read_wellFormed_isTheCallersSpan() {
    Context caller = read("00-" + TRACE + "-" + SPAN + "-01");

    assertTrue(CallerSpan.isIn(caller));
    assertTrue(CallerSpan.isSampled(caller));
    assertTrue(span(caller).isRemote());
    assertEquals(TRACE, span(caller).getTraceId());
    assertEquals(SPAN, span(caller).getSpanId());
  }

  @Test
  void read_withoutTheFlag_isNotSampled() {
    Context caller = read("00-" + TRACE + "-" + SPAN + "-00");

    assertTrue(CallerSpan.isIn(caller));
    assertFalse(CallerSpan.isSampled(caller));
  }

  @Test
  void read_ofALaterVersion_isReadAsTheFirst() {
    assertTrue(CallerSpan.isIn(read("01-" + TRACE + "-" + SPAN + "-01-more")));
  }

  @Test
  void read_malformed_isNone() {
    for (String malformed :
        List.of(
            "",
            "-",
            "00",
            TRACE,
            "00-" + TRACE + "-" + SPAN,
            "00-" + TRACE + "-" + SPAN + "-",
            "00-" + TRACE + "-" + SPAN + "-1",
            "00-" + TRACE + "-" + SPAN + "-zz",
            "00-" + TRACE + "-" + SPAN + "-01-more",
            "ff-" + TRACE + "-" + SPAN + "-01",
            "0x-" + TRACE + "-" + SPAN + "-01",
            "00-" + "0".repeat(32) + "-" + SPAN + "-01",
            "00-" + TRACE + "-" + "0".repeat(16) + "-01",
            "00-" + TRACE.replace('0', 'g') + "-" + SPAN + "-01",
            "00_" + TRACE + "_" + SPAN + "_01",
            "00-" + TRACE + "-" + SPAN + "-01\u0000",
            "\ud800".repeat(55),
            "9".repeat(8_000))) {
      assertFalse(CallerSpan.isIn(read(malformed)), malformed);
      assertFalse(CallerSpan.isSampled(read(malformed)), malformed);
    }
  }

  @Test
  void read_twoParents_isNone() {
    String one = "00-" + TRACE + "-" + SPAN + "-01";

    assertFalse(CallerSpan.isIn(read(Map.of("traceparent", List.of(one, one)))));
  }

  @Test
  void read_stateOfTheCaller_isKept() {
    Context caller =
        read(
            Map.of(
                "traceparent",
                List.of("00-" + TRACE + "-" + SPAN + "-01"),
                "tracestate",
                List.of("a=1", "b=2")));

    assertEquals("1", span(caller).getTraceState().get("a"));
    assertEquals("2", span(caller).getTraceState().get("b"));
  }

  @Test
  void read_stateThatIsMalformedOrTooLong_isPassedOver() {
    String many =
        IntStream.range(0, 40).mapToObj(i -> "k" + i + "=v").collect(Collectors.joining(","));
    for (String state :
        List.of("=", "no", "A B=1", many, "k=" + "v".repeat(600), ",,,", "a=\u0001")) {
      Context caller =
          read(
              Map.of(
                  "traceparent",
                  List.of("00-" + TRACE + "-" + SPAN + "-01"),
                  "tracestate",
                  List.of(state)));

      assertTrue(CallerSpan.isIn(caller), state);
      assertTrue(span(caller).getTraceState().isEmpty(), state);
    }
  }
}
