// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.trace.Traces;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gRPC service. A request that cannot be decided is answered {@code INVALID_ARGUMENT}; one that
 * the node cannot decide now, {@code UNAVAILABLE}, of which Envoy's {@code failure_mode_deny} makes
 * a verdict. Thread-safe.
 */
final class RateLimitService {
  private static final Logger LOG = LoggerFactory.getLogger(RateLimitService.class);

  /** Time that Envoy gives a service, unless it is configured. */
  private static final Duration USUAL_DEADLINE = Duration.ofMillis(20);

  /**
   * The part of a deadline for which the cache is waited for, in percent; the rest is for the
   * record, the answer and its way.
   */
  private static final int PERCENT_OF_DEADLINE = 60;

  private static final MethodDescriptor<ReceivedRequest, RateLimitResponse> METHOD =
      RateLimitServiceGrpc.getShouldRateLimitMethod().toBuilder(
              ReceivedRequest.MARSHALLER,
              RateLimitServiceGrpc.getShouldRateLimitMethod().getResponseMarshaller())
          .build();

  private static final ServiceDescriptor SERVICE =
      ServiceDescriptor.newBuilder(RateLimitServiceGrpc.SERVICE_NAME)
          .setSchemaDescriptor(RateLimitServiceGrpc.getServiceDescriptor().getSchemaDescriptor())
          .addMethod(METHOD)
          .build();

  private final RateLimits limits;
  private final Traces traces;
  private final RateLimitStatistics statistics;
  private final int maxUnderWay;
  private final IntSupplier waiting;
  private final AtomicInteger underWay = new AtomicInteger();

  /**
   * Creates the service.
   *
   * @param traces tells whether requests may have traces
   * @param maxUnderWay most requests that are accepted and not yet answered
   * @param waiting tells how many of them wait for a thread
   */
  RateLimitService(
      RateLimits limits,
      Traces traces,
      RateLimitStatistics statistics,
      int maxUnderWay,
      IntSupplier waiting) {
    this.limits = limits;
    this.traces = traces;
    this.statistics = statistics;
    this.maxUnderWay = maxUnderWay;
    this.waiting = waiting;
  }

  /** Returns the service as a server takes it. */
  ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder(SERVICE)
        .addMethod(METHOD, ServerCalls.asyncUnaryCall(this::shouldRateLimit))
        .build();
  }

  private void shouldRateLimit(
      ReceivedRequest received, StreamObserver<RateLimitResponse> observer) {
    ServerCallStreamObserver<RateLimitResponse> answer =
        (ServerCallStreamObserver<RateLimitResponse>) observer;
    // without one, an answer that comes too late would throw
    answer.setOnCancelHandler(() -> {});
    if (underWay.incrementAndGet() + waiting.getAsInt() > maxUnderWay) {
      underWay.decrementAndGet();
      statistics.count(RateLimitStatistics.Outcome.OVERLOADED);
      answer.onError(
          Status.UNAVAILABLE
              .withDescription(
                  "as many requests as the node takes are under way; nothing was decided")
              .asRuntimeException());
      return;
    }
    CompletableFuture<RateLimits.Verdict> pending;
    try {
      RateLimitRequest request = received.request();
      if (request == null) {
        throw new InvalidRequestException("", "the message is no RateLimitRequest");
      }
      pending = limits.decide(request, patience(), traces.isOn() ? RequestTraces.current() : null);
    } catch (InvalidRequestException invalid) {
      underWay.decrementAndGet();
      statistics.count(RateLimitStatistics.Outcome.INVALID);
      answer.onError(
          Status.INVALID_ARGUMENT.withDescription(invalid.getMessage()).asRuntimeException());
      return;
    } catch (RuntimeException | Error failed) {
      underWay.decrementAndGet();
      throw failed;
    }
    var unused =
        pending.whenComplete(
            (verdict, failed) -> {
              underWay.decrementAndGet();
              answer(answer, verdict, failed);
            });
  }

  /** Returns how long the cache may take, by the caller's deadline. */
  private static Duration patience() {
    Deadline deadline = Context.current().getDeadline();
    Duration left =
        deadline == null
            ? USUAL_DEADLINE
            : Duration.ofNanos(Math.max(0, deadline.timeRemaining(TimeUnit.NANOSECONDS)));
    return left.multipliedBy(PERCENT_OF_DEADLINE).dividedBy(100);
  }

  private void answer(
      ServerCallStreamObserver<RateLimitResponse> answer,
      RateLimits.@Nullable Verdict verdict,
      @Nullable Throwable failed) {
    if (verdict instanceof RateLimits.Verdict.Told told) {
      statistics.count(told.response().getOverallCode());
      answer.onNext(told.response());
      answer.onCompleted();
      return;
    }
    if (verdict instanceof RateLimits.Verdict.NotTold not) {
      statistics.count(RateLimitStatistics.Outcome.UNAVAILABLE);
      answer.onError(
          Status.UNAVAILABLE.withDescription(description(not.outcome())).asRuntimeException());
      return;
    }
    LOG.error("request failed service={}", RateLimitServiceGrpc.SERVICE_NAME, failed);
    answer.onError(Status.INTERNAL.withDescription("see the node's log").asRuntimeException());
  }

  private static String description(CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Shed shed) {
      return "the node is overloaded: " + shed.detail();
    }
    return outcome instanceof CheckOutcome.NotKept notKept
        ? "a call could not be recorded (" + notKept.refused().reason() + ")"
        : "a call could not be decided";
  }
}
