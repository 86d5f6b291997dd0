// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallTrace;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Descriptor;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.settle.Settler;
import io.weir.ingest.trace.RequestTrace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Decides requests of Envoy's rate limit service. Each descriptor is a call of its own, decided and
 * recorded as one of {@code POST /v1/check}; a request is over the limit if one of them is. A
 * descriptor whose hits are given back is none: calls that took them are settled. Thread-safe;
 * blocks no thread.
 */
public final class RateLimits {
  private final CheckGate gate;
  private final DescriptorReader reader;
  private final HeaderFields fields;
  private final @Nullable NegativeHits negativeHits;

  /** Returns what an answer's header fields tell of a decided call. */
  public interface HeaderFields {
    /** Returns the fields' names, in lower case, with their values. */
    Map<String, String> of(CheckOutcome.Decided decided);
  }

  /** What becomes of a request. */
  public sealed interface Verdict {
    /** The request was decided. */
    record Told(RateLimitResponse response) implements Verdict {
      /** Returns whether one of the calls was denied. */
      public boolean isOverLimit() {
        return response.getOverallCode() != Code.OK;
      }

      /** Returns the answer in JSON. */
      public byte[] json() {
        return RateLimitJson.write(response);
      }
    }

    /**
     * A call of the request was not decided, or its decision could not be kept: the node is
     * overloaded or cannot record. The others were charged and recorded.
     */
    record NotTold(CheckOutcome outcome) implements Verdict {}
  }

  /**
   * Creates the service.
   *
   * @param settler settles calls whose hits are given back
   * @param fields tells the header fields that Envoy adds to the answer to its caller
   */
  public RateLimits(
      CheckGate gate,
      Settler settler,
      RateLimitSettings settings,
      HeaderFields fields,
      MeterRegistry registry) {
    this.gate = gate;
    this.reader = new DescriptorReader(settings.clientKeys(), settings.negativeHits());
    this.fields = fields;
    this.negativeHits = settings.negativeHits() ? new NegativeHits(settler, registry) : null;
  }

  /**
   * Decides a request, and returns without waiting.
   *
   * @param patience how long the cache may take, before the failure modes of the policies decide;
   *     null for as long as it is set to
   * @param trace is told of the steps of the first calls; null if the request is not traced
   * @return completed by a thread that must not be blocked; exceptionally only by a fault of this
   *     process
   * @throws InvalidRequestException if the request cannot be decided; nothing was recorded
   */
  public CompletableFuture<Verdict> decide(
      RateLimitRequest request, @Nullable Duration patience, @Nullable RequestTrace trace)
      throws InvalidRequestException {
    List<DescriptorReader.Asked> asked = besideEachOther(reader.read(request));
    List<CompletableFuture<CheckOutcome>> pending = new ArrayList<>(asked.size());
    for (DescriptorReader.Asked each : asked) {
      CallTrace ofCall = trace == null ? null : trace.ofCall(pending.size(), asked.size());
      pending.add(submit(each, patience, ofCall));
    }
    return CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new))
        .thenApply(all -> verdict(asked, pending.stream().map(CompletableFuture::join).toList()));
  }

  @SuppressWarnings("ReferenceEquality") // the gate returns the same list if nothing is replaced
  private List<DescriptorReader.Asked> besideEachOther(List<DescriptorReader.Asked> asked) {
    if (asked.size() < 2) {
      return asked;
    }
    List<Call> alone = asked.stream().map(one -> one.call()).toList();
    List<Call> calls = gate.besideEachOther(alone);
    if (calls == alone) {
      return asked;
    }
    List<DescriptorReader.Asked> beside = new ArrayList<>(asked.size());
    for (int i = 0; i < asked.size(); i++) {
      beside.add(asked.get(i).of(calls.get(i)));
    }
    return beside;
  }

  private CompletableFuture<CheckOutcome> submit(
      DescriptorReader.Asked asked, @Nullable Duration patience, @Nullable CallTrace trace) {
    if (asked.isPeek()) {
      return gate.submitPeek(asked.call(), patience, trace);
    }
    NegativeHits negative = negativeHits;
    if (negative == null) {
      return gate.submit(asked.call(), patience, trace);
    }
    if (asked.negativeHits() > 0) {
      return negative
          .giveBack(asked.call().facts(), asked.negativeHits())
          .thenCompose(
              refused ->
                  refused.isEmpty()
                      ? gate.submitPeek(asked.call(), patience, trace)
                      : CompletableFuture.completedFuture(new CheckOutcome.NotKept(refused.get())));
    }
    CompletableFuture<CheckOutcome> decided = gate.submit(asked.call(), patience, trace);
    // what a limit of the request has counted is in no record, so it cannot be given back
    return hasOwnLimit(asked.call())
        ? decided
        : decided.thenApply(
            outcome -> {
              negative.remember(outcome);
              return outcome;
            });
  }

  private static boolean hasOwnLimit(Call call) {
    Descriptor descriptor = call.descriptor();
    return descriptor != null && descriptor.limit() != null;
  }

  /**
   * Decides a request in JSON as {@link #decide} does, with the cache's own patience.
   *
   * @param ignoresUnknown whether members that are not known are passed over
   * @param trace as there
   */
  public CompletableFuture<Verdict> decideJson(
      byte[] body, boolean ignoresUnknown, @Nullable RequestTrace trace)
      throws InvalidRequestException {
    return decide(RateLimitJson.read(body, ignoresUnknown), null, trace);
  }

  private Verdict verdict(List<DescriptorReader.Asked> asked, List<CheckOutcome> outcomes) {
    RateLimitResponse.Builder response = RateLimitResponse.newBuilder().setOverallCode(Code.OK);
    CheckOutcome.Decided deciding = null;
    for (int i = 0; i < outcomes.size(); i++) {
      CheckOutcome outcome = outcomes.get(i);
      if (asked.get(i).negativeHits() > 0 && !(outcome instanceof CheckOutcome.NotKept)) {
        response.addStatuses(givenBack(outcome));
        continue;
      }
      if (!(outcome instanceof CheckOutcome.Decided decided)) {
        return new Verdict.NotTold(outcome);
      }
      response.addStatuses(DescriptorStatuses.of(decided));
      if (!decided.call().allowed()) {
        response.setOverallCode(Code.OVER_LIMIT);
      }
      deciding = deciding == null || isNearer(decided, deciding) ? decided : deciding;
    }
    if (deciding != null) {
      fields
          .of(deciding)
          .forEach(
              (name, value) ->
                  response.addResponseHeadersToAdd(
                      HeaderValue.newBuilder().setKey(name).setValue(value)));
    }
    return new Verdict.Told(response.build());
  }

  /**
   * Returns the status of a descriptor whose hits are given back: it is within its limits, whatever
   * is left of them, also if that is not known.
   */
  private static DescriptorStatus givenBack(CheckOutcome peeked) {
    return peeked instanceof CheckOutcome.Decided decided
        ? DescriptorStatuses.of(decided).toBuilder().setCode(Code.OK).build()
        : DescriptorStatus.newBuilder().setCode(Code.OK).build();
  }

  /**
   * Returns whether a call tells the caller more than another: a denied one more than an allowed
   * one, of denied ones the one with the longer wait, of others the one with less of its limit
   * left.
   */
  private static boolean isNearer(CheckOutcome.Decided call, CheckOutcome.Decided other) {
    if (call.call().allowed() != other.call().allowed()) {
      return !call.call().allowed();
    }
    return call.call().allowed()
        ? partLeft(call) < partLeft(other)
        : waitMicros(call) > waitMicros(other);
  }

  private static double partLeft(CheckOutcome.Decided call) {
    LimitStatus told = DescriptorStatuses.told(call);
    return told == null
        ? Double.MAX_VALUE
        : (double) told.remainingTokens() / Math.max(1, told.limit().capacityTokens());
  }

  private static long waitMicros(CheckOutcome.Decided call) {
    CheckOutcome.Denial denial = call.denial();
    return denial == null
        ? 0
        : denial.costExceedsCapacity() ? Long.MAX_VALUE : denial.retryAfterMicros();
  }
}
