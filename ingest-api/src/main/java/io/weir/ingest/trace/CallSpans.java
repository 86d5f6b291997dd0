// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.trace;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.weir.ingest.gate.CallTrace;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Recorded;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The spans for the steps of one call, or for the steps of a whole batch of calls. These spans are
 * children of the request's span. The object passes with the call from thread to thread. The object
 * ignores events that arrive out of order.
 */
final class CallSpans implements CallTrace {
  /**
   * Maximum number of policy names in an attribute, equal to the maximum number of policies
   * evaluated for one call.
   */
  private static final int MAX_POLICIES = 16;

  private final Tracer tracer;
  private final Context request;
  private final int index;
  private final @Nullable Span alsoDescribed;
  private final AtomicInteger awaited;
  private final int maxAwaited;
  private final AtomicInteger ownAwaited = new AtomicInteger();
  private volatile @Nullable Span deciding;
  private volatile @Nullable Span recording;
  private volatile long recordingEpochNanos;

  /**
   * Creates an object without spans.
   *
   * @param request the context that contains the request's span
   * @param index index of the call in the request; −1 if the request has one call, or if the spans
   *     cover all calls
   * @param alsoDescribed another span that also receives the attributes of the verdict; null for
   *     none
   * @param awaited number of traced calls that wait for Kafka's acknowledgement, shared by all
   *     requests
   * @param maxAwaited maximum of {@code awaited}; above it, no span waits for Kafka
   */
  CallSpans(
      Tracer tracer,
      Context request,
      int index,
      @Nullable Span alsoDescribed,
      AtomicInteger awaited,
      int maxAwaited) {
    this.tracer = tracer;
    this.request = request;
    this.index = index;
    this.alsoDescribed = alsoDescribed;
    this.awaited = awaited;
    this.maxAwaited = maxAwaited;
  }

  private SpanBuilder child(String name) {
    SpanBuilder child = tracer.spanBuilder(name).setParent(request);
    return index < 0 ? child : child.setAttribute(SpanNames.CALL, (long) index);
  }

  @Override
  public void deciding() {
    deciding = child(SpanNames.DECIDE).startSpan();
  }

  @Override
  public void decided(List<CheckOutcome> outcomes) {
    Span span = deciding;
    if (span == null) {
      return;
    }
    deciding = null;
    CheckOutcome first = outcomes.get(0);
    Attributes attributes = outcomes.size() == 1 ? ofOne(first) : ofMany(outcomes);
    span.setAllAttributes(attributes);
    if (alsoDescribed != null) {
      alsoDescribed.setAllAttributes(attributes);
    }
    if (outcomes.stream().anyMatch(CallSpans::isWithoutCache)) {
      span.setStatus(StatusCode.ERROR, "the cache did not decide");
    }
    span.end();
  }

  private static Attributes ofOne(CheckOutcome outcome) {
    if (!(outcome instanceof CheckOutcome.Decided decided)) {
      boolean isShed = outcome instanceof CheckOutcome.Shed;
      return Attributes.of(SpanNames.VERDICT, isShed ? "shed" : "key-refused");
    }
    CallEvent call = decided.call();
    AttributesBuilder attributes =
        Attributes.builder()
            .put(SpanNames.VERDICT, call.allowed() ? "allowed" : "denied")
            .put(SpanNames.DECIDED_BY, call.decidedBy().wireName())
            .put(SpanNames.COST, call.cost());
    String policy = call.policy();
    if (policy != null) {
      attributes.put(SpanNames.POLICY, policy);
    }
    List<String> policies =
        decided.limits().stream()
            .map(limit -> limit.policy().name())
            .distinct()
            .limit(MAX_POLICIES)
            .toList();
    if (!policies.isEmpty()) {
      attributes.put(SpanNames.POLICIES, policies);
    }
    return attributes.build();
  }

  private static Attributes ofMany(List<CheckOutcome> outcomes) {
    long allowed = 0;
    long denied = 0;
    for (CheckOutcome outcome : outcomes) {
      if (outcome instanceof CheckOutcome.Decided decided) {
        allowed += decided.call().allowed() ? 1 : 0;
        denied += decided.call().allowed() ? 0 : 1;
      }
    }
    return Attributes.of(
        SpanNames.CALLS,
        (long) outcomes.size(),
        SpanNames.ALLOWED,
        allowed,
        SpanNames.DENIED,
        denied);
  }

  private static boolean isWithoutCache(CheckOutcome outcome) {
    if (!(outcome instanceof CheckOutcome.Decided decided)) {
      return outcome instanceof CheckOutcome.Shed;
    }
    DecidedBy decidedBy = decided.call().decidedBy();
    return decidedBy.withoutCache() || decidedBy == DecidedBy.FAIL_CLOSED;
  }

  @Override
  public void recording() {
    Span span = child(SpanNames.RECORD).startSpan();
    if (span instanceof ReadableSpan readable) {
      recordingEpochNanos = readable.toSpanData().getStartEpochNanos();
    }
    recording = span;
  }

  @Override
  public @Nullable Runnable whenAcked(int calls) {
    if (awaited.addAndGet(calls) > maxAwaited) {
      awaited.addAndGet(-calls);
      return null;
    }
    ownAwaited.set(calls);
    return this::acked;
  }

  private void acked() {
    stopAwaiting();
    child(SpanNames.PUBLISH)
        .setSpanKind(SpanKind.PRODUCER)
        .setStartTimestamp(recordingEpochNanos, TimeUnit.NANOSECONDS)
        .setAttribute(SpanNames.MESSAGING_SYSTEM, "kafka")
        .setAttribute(SpanNames.MESSAGING_OPERATION, "send")
        .setAttribute(SpanNames.MESSAGING_OPERATION_NAME, SpanNames.PUBLISH)
        .setAttribute(SpanNames.MESSAGING_DESTINATION, Topics.CALLS.name())
        .startSpan()
        .end();
  }

  private void stopAwaiting() {
    awaited.addAndGet(-ownAwaited.getAndSet(0));
  }

  @Override
  public void recorded(List<Recorded> results) {
    Recorded result = results.get(0); // the log accepts or refuses them together
    if (!(result instanceof Recorded.Durable)) {
      stopAwaiting();
    }
    Span span = recording;
    if (span == null) {
      return;
    }
    recording = null;
    if (result instanceof Recorded.Durable durable) {
      span.setAttribute(SpanNames.RECORDED, durable.durability().wireName());
    } else if (result instanceof Recorded.Refused refused) {
      span.setAttribute(SpanNames.RECORDED, "refused");
      span.setAttribute(
          SpanNames.ERROR_TYPE, refused.reason().name().toLowerCase(Locale.ROOT).replace('_', '-'));
      span.setStatus(StatusCode.ERROR, "the record was refused");
    } else {
      span.setAttribute(SpanNames.RECORDED, "dropped");
    }
    span.end();
  }

  @Override
  public void notRecorded() {
    stopAwaiting();
  }

  /**
   * Ends the spans. Called when the request has been answered, or when its caller has disconnected.
   * Steps that have not ended are marked as failed. A span that waits for Kafka stays open, because
   * the log still holds the calls.
   */
  void end() {
    fail(deciding);
    deciding = null;
    fail(recording);
    recording = null;
  }

  private static void fail(@Nullable Span step) {
    if (step != null) {
      step.setStatus(StatusCode.ERROR, "the step did not end");
      step.end();
    }
  }
}
