// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Reads the caller's span from the header fields {@code traceparent} and {@code tracestate} (W3C
 * Trace Context). Malformed values are ignored.
 */
final class CallerSpan {
  private static final String TRACEPARENT = "traceparent";

  /**
   * Maximum length of {@code tracestate} in characters, which every receiver should support
   * (§3.3.1.5). A longer value is ignored.
   */
  private static final int MAX_STATE_CHARACTERS = 512;

  private CallerSpan() {}

  /**
   * Returns a context with the caller's span. Returns the root context if the request names no
   * span, several spans, or an invalid span.
   */
  static Context read(Function<String, List<String>> headers) {
    return W3CTraceContextPropagator.getInstance()
        .extract(Context.root(), headers, CallerSpan::field);
  }

  /** Returns whether a context contains a caller's span. */
  static boolean isIn(Context context) {
    return Span.fromContext(context).getSpanContext().isValid();
  }

  /** Returns whether the caller has decided to sample its own span. */
  static boolean isSampled(Context context) {
    return Span.fromContext(context).getSpanContext().isSampled();
  }

  /**
   * Returns the value of a field for the library; null if the field is absent, repeated or too
   * long.
   */
  private static @Nullable String field(
      @Nullable Function<String, List<String>> headers, String name) {
    List<String> values = headers == null ? List.of() : headers.apply(name);
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
