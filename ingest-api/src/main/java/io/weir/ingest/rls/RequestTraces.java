// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall;
import io.grpc.ForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.weir.ingest.trace.RequestTrace;
import io.weir.ingest.trace.Traces;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An interceptor that begins a trace when a request arrives, and ends it with the status of the
 * response. Thread-safe.
 */
final class RequestTraces implements ServerInterceptor {
  private static final Context.Key<RequestTrace> KEY = Context.key("weir-request-trace");

  private final Traces traces;

  private RequestTraces(Traces traces) {
    this.traces = traces;
  }

  /** Returns a service whose requests are traced. Returns the given service if tracing is off. */
  static ServerServiceDefinition of(Traces traces, ServerServiceDefinition service) {
    return traces.isConfigured()
        ? ServerInterceptors.intercept(service, new RequestTraces(traces))
        : service;
  }

  /**
   * Returns the trace of the request that the current thread processes; null if the request has no
   * trace.
   */
  static @Nullable RequestTrace current() {
    return KEY.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    RequestTrace trace =
        traces.isOn()
            ? traces.beginRpc(
                name -> values(headers, name),
                call.getMethodDescriptor().getFullMethodName(),
                System.nanoTime())
            : null;
    if (trace == null) {
      return next.startCall(call, headers);
    }
    ServerCall<Q, A> ending =
        new ForwardingServerCall.SimpleForwardingServerCall<>(call) {
          @Override
          public void close(Status status, Metadata trailers) {
            super.close(status, trailers);
            trace.endRpc(status.getCode().name(), isFailure(status.getCode()));
          }
        };
    ServerCall.Listener<Q> listener =
        Contexts.interceptCall(Context.current().withValue(KEY, trace), ending, headers, next);
    return new ForwardingServerCallListener.SimpleForwardingServerCallListener<>(listener) {
      @Override
      public void onCancel() {
        trace.endRpc(Status.Code.CANCELLED.name(), false);
        super.onCancel();
      }
    };
  }

  /**
   * Returns the values of a metadata key, in order. The gRPC library rejects the names of binary
   * keys.
   */
  private static List<String> values(Metadata headers, String name) {
    Iterable<String> given =
        headers.getAll(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    List<String> values = new ArrayList<>();
    if (given != null) {
      given.forEach(values::add);
    }
    return values;
  }

  /** Returns whether a status code is a server error by OpenTelemetry's conventions. */
  private static boolean isFailure(Status.Code code) {
    return switch (code) {
      case UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS -> true;
      default -> false;
    };
  }
}
