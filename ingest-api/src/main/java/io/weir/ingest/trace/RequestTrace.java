// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.weir.ingest.gate.CallTrace;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The trace of one request: the span of the request, and the spans of its calls. The request's span
 * begins when the request arrives. The object passes with the request from thread to thread.
 * Thread-safe; never blocks.
 */
public final class RequestTrace {
  /** Maximum number of calls of a request that have their own spans. */
  static final int MAX_CALLS = 8;

  /** The lowest HTTP status of a server error. */
  private static final int FIRST_FAILURE = 500;

  private final Tracer tracer;
  private final Span span;
  private final Context context;
  private final AtomicInteger awaited;
  private final int maxAwaited;
  private final Queue<CallSpans> calls = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean isEnded = new AtomicBoolean();

  RequestTrace(Tracer tracer, Span span, AtomicInteger awaited, int maxAwaited) {
    this.tracer = tracer;
    this.span = span;
    this.context = Context.root().with(span);
    this.awaited = awaited;
    this.maxAwaited = maxAwaited;
  }

  /**
   * Returns the trace of the request's only call, or one trace for all calls of the request. The
   * events of this trace also become attributes of the request's span.
   */
  public CallTrace ofAllCalls() {
    return add(new CallSpans(tracer, context, -1, span, awaited, maxAwaited));
  }

  /**
   * Returns the trace of one of the request's calls.
   *
   * @param index index of the call, from 0
   * @param count number of calls of the request
   * @return the trace; null if the request has several calls and {@code index} is {@value
   *     #MAX_CALLS} or more
   */
  public @Nullable CallTrace ofCall(int index, int count) {
    if (count == 1) {
      return ofAllCalls();
    }
    if (index == 0) {
      span.setAttribute(SpanNames.CALLS, (long) count);
    }
    return index < MAX_CALLS
        ? add(new CallSpans(tracer, context, index, null, awaited, maxAwaited))
        : null;
  }

  private CallSpans add(CallSpans spans) {
    calls.add(spans);
    return spans;
  }

  /** Ends the trace with the status of the HTTP response. Further invocations are ignored. */
  public void endHttp(int status) {
    if (!isEnded.compareAndSet(false, true)) {
      return;
    }
    span.setAttribute(SpanNames.STATUS, (long) status);
    if (status >= FIRST_FAILURE) {
      span.setAttribute(SpanNames.ERROR_TYPE, Integer.toString(status));
      span.setStatus(StatusCode.ERROR);
    }
    end();
  }

  /**
   * Ends the trace with the status of the gRPC response. Further invocations are ignored.
   *
   * @param status the name of the status code, such as {@code OK}
   * @param isFailure whether the status is a server error
   */
  public void endRpc(String status, boolean isFailure) {
    if (!isEnded.compareAndSet(false, true)) {
      return;
    }
    span.setAttribute(SpanNames.RPC_STATUS, status);
    if (isFailure) {
      span.setAttribute(SpanNames.ERROR_TYPE, status);
      span.setStatus(StatusCode.ERROR);
    }
    end();
  }

  private void end() {
    calls.forEach(CallSpans::end);
    span.end();
  }
}
