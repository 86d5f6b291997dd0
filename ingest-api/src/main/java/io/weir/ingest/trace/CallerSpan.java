// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the caller's span from {@code traceparent} and {@code tracestate} (W3C Trace Context).
 * Malformed values count as absent and are never an error.
 */
final class CallerSpan {
  private static final String TRACEPARENT = "traceparent";

  /**
   * Maximum length of a state, which every receiver should support (§3.3.1.5); longer ones are
   * ignored.
   */
  private static final int MAX_STATE_CHARACTERS = 512;

  private CallerSpan() {}

  /**
   * Returns a context whose span is the caller's; the root context if the request names no span,
   * several spans, or an invalid one.
   */
  static Context read(RequestHeaders headers) {
    return W3CTraceContextPropagator.getInstance()
        .extract(Context.root(), headers, CallerSpan::field);
  }

  /** Returns whether a context has the span of a caller. */
  static boolean isIn(Context context) {
    return Span.fromContext(context).getSpanContext().isValid();
  }

  /** Returns whether the caller's span is recorded. */
  static boolean isSampled(Context context) {
    return Span.fromContext(context).getSpanContext().isSampled();
  }

  /** Returns a field for the library, if it is unambiguous and short enough. */
  private static @Nullable String field(@Nullable RequestHeaders headers, String name) {
    List<String> values = headers == null ? List.of() : headers.values(name);
    if (values.isEmpty()) {
      return null;
    }
    if (name.equals(TRACEPARENT)) {
      return values.size() == 1 ? values.get(0) : null;
    }
    String state = String.join(",", values);
    return state.length() > MAX_STATE_CHARACTERS ? null : state;
  }
}
