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
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.trace.Traces;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The gRPC implementation of Envoy's rate limit service. The service answers an invalid request
 * with {@code INVALID_ARGUMENT}. If the node cannot decide a request now, the service answers
 * {@code UNAVAILABLE}; then Envoy's {@code failure_mode_deny} determines the verdict. Thread-safe.
 */
final class RateLimitService {
  private static final Logger LOG = LoggerFactory.getLogger(RateLimitService.class);

  /** Envoy's default deadline for a rate limit service. */
  private static final Duration USUAL_DEADLINE = Duration.ofMillis(20);

  /**
   * Percentage of a caller's deadline that is available for the cache's reply. The rest of the
   * deadline is for recording and the response.
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
  private final int maxUnderWay;
  private final IntSupplier waiting;
  private final AtomicInteger underWay = new AtomicInteger();
  private final Map<Outcome, Counter> counters = new EnumMap<>(Outcome.class);
  private volatile boolean isCounting;

  /** The outcome of a request. */
  enum Outcome {
    /** All descriptors of the request are within their limits. */
    OK,
    /** At least one descriptor of the request is over its limit. */
    OVER_LIMIT,
    /** The request is invalid. */
    INVALID,
    /** The node was at its maximum number of concurrent requests. */
    OVERLOADED,
    /** A call of the request was shed, or could not be recorded. */
    UNAVAILABLE
  }

  /**
   * Creates the service.
   *
   * @param traces reports whether tracing is on
   * @param registry receives the counts of requests by outcome
   * @param maxUnderWay maximum number of requests in progress
   * @param waiting returns the number of requests that wait for a thread
   */
  RateLimitService(
      RateLimits limits,
      Traces traces,
      MeterRegistry registry,
      int maxUnderWay,
      IntSupplier waiting) {
    this.limits = limits;
    this.traces = traces;
    this.maxUnderWay = maxUnderWay;
    this.waiting = waiting;
    for (Outcome outcome : Outcome.values()) {
      counters.put(
          outcome,
          Counter.builder("weir.grpc.requests")
              .description("requests of Envoy's rate limit service over gRPC")
              .tag("outcome", outcome.name().toLowerCase(Locale.ROOT).replace('_', '-'))
              .register(registry));
    }
  }

  /** Begins to count requests. */
  void beginCounting() {
    isCounting = true;
  }

  private void count(Outcome outcome) {
    Counter counter = counters.get(outcome);
    if (isCounting && counter != null) {
      counter.increment();
    }
  }

  /** Returns the definition of the service for a server. */
  ServerServiceDefinition definition() {
    return ServerServiceDefinition.builder(SERVICE)
        .addMethod(METHOD, ServerCalls.asyncUnaryCall(this::shouldRateLimit))
        .build();
  }

  private void shouldRateLimit(
      ReceivedRequest received, StreamObserver<RateLimitResponse> observer) {
    ServerCallStreamObserver<RateLimitResponse> answer =
        (ServerCallStreamObserver<RateLimitResponse>) observer;
    // without a handler, a response after the cancellation would throw
    answer.setOnCancelHandler(() -> {});
    if (underWay.incrementAndGet() + waiting.getAsInt() > maxUnderWay) {
      underWay.decrementAndGet();
      count(Outcome.OVERLOADED);
      answer.onError(
          Status.UNAVAILABLE
              .withDescription(
                  "the node is at its limit of concurrent requests; nothing was decided")
              .asRuntimeException());
      return;
    }
    CompletableFuture<RateLimits.Verdict> pending;
    try {
      RateLimitRequest request = received.request();
      if (request == null) {
        throw new InvalidRequestException("", "the message is not a RateLimitRequest");
      }
      pending =
          limits.decide(request, cacheTimeout(), traces.isOn() ? RequestTraces.current() : null);
    } catch (InvalidRequestException invalid) {
      underWay.decrementAndGet();
      count(Outcome.INVALID);
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

  /** Returns the timeout for the cache's reply, derived from the caller's deadline. */
  private static Duration cacheTimeout() {
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
    if (verdict instanceof RateLimits.Verdict.Answered answered) {
      count(answered.isOverLimit() ? Outcome.OVER_LIMIT : Outcome.OK);
      answer.onNext(answered.response());
      answer.onCompleted();
      return;
    }
    if (verdict instanceof RateLimits.Verdict.NotAnswered not) {
      count(Outcome.UNAVAILABLE);
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
