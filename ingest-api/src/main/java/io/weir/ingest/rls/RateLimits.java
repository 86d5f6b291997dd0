// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallTrace;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.trace.RequestTrace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Decides requests of Envoy's rate limit service. Each descriptor is a separate call, which the
 * gate decides and records like a call of {@code POST /v1/check}. A request is over the limit if
 * one of its calls is denied. Thread-safe; blocks no thread.
 */
public final class RateLimits {
  private final CheckGate gate;
  private final DescriptorReader reader;
  private final HeaderFields fields;

  /** Creates the header fields of the response to a decided call. */
  public interface HeaderFields {
    /** Returns the values of the header fields by name; the names are in lower case. */
    Map<String, String> of(CheckOutcome.Decided decided);
  }

  /** The result of a request. */
  public sealed interface Verdict {
    /** The request was decided. */
    record Answered(RateLimitResponse response) implements Verdict {
      /** Returns whether a call of the request was denied. */
      public boolean isOverLimit() {
        return response.getOverallCode() != Code.OK;
      }

      /** Returns the response in JSON. */
      public byte[] json() {
        return RateLimitJson.write(response);
      }
    }

    /**
     * A call of the request was not decided or not recorded, because the node is overloaded or
     * cannot record calls. The other calls were charged and recorded.
     */
    record NotAnswered(CheckOutcome outcome) implements Verdict {}
  }

  /**
   * Creates the service.
   *
   * @param fields creates the header fields that Envoy adds to the response to its caller
   */
  public RateLimits(CheckGate gate, RateLimitSettings settings, HeaderFields fields) {
    this.gate = gate;
    this.reader = new DescriptorReader(settings.clientKeys());
    this.fields = fields;
  }

  /**
   * Decides a request, and returns without waiting.
   *
   * @param cacheTimeout maximum time for the cache's reply, after which the policies' failure modes
   *     decide; null for the cache's own timeout
   * @param trace the trace of the request; null if the request is not traced
   * @return completes on a thread that must not be blocked; completes exceptionally only after an
   *     unexpected exception
   * @throws InvalidRequestException if the request is invalid; no call was recorded
   */
  public CompletableFuture<Verdict> decide(
      RateLimitRequest request, @Nullable Duration cacheTimeout, @Nullable RequestTrace trace)
      throws InvalidRequestException {
    List<DescriptorReader.Asked> asked = applyReplacements(reader.read(request));
    List<CompletableFuture<CheckOutcome>> pending = new ArrayList<>(asked.size());
    for (DescriptorReader.Asked each : asked) {
      CallTrace ofCall = trace == null ? null : trace.ofCall(pending.size(), asked.size());
      pending.add(submit(each, cacheTimeout, ofCall));
    }
    return CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new))
        .thenApply(all -> verdict(pending.stream().map(CompletableFuture::join).toList()));
  }

  @SuppressWarnings("ReferenceEquality") // the gate returns the same list if nothing is replaced
  private List<DescriptorReader.Asked> applyReplacements(List<DescriptorReader.Asked> asked) {
    if (asked.size() < 2) {
      return asked;
    }
    List<Call> alone = asked.stream().map(one -> one.call()).toList();
    List<Call> calls = gate.applyReplacements(alone);
    if (calls == alone) {
      return asked;
    }
    List<DescriptorReader.Asked> replaced = new ArrayList<>(asked.size());
    for (int i = 0; i < asked.size(); i++) {
      replaced.add(asked.get(i).of(calls.get(i)));
    }
    return replaced;
  }

  private CompletableFuture<CheckOutcome> submit(
      DescriptorReader.Asked asked, @Nullable Duration cacheTimeout, @Nullable CallTrace trace) {
    if (asked.isPeek()) {
      return gate.submitPeek(asked.call(), cacheTimeout, trace);
    }
    return gate.submit(asked.call(), cacheTimeout, trace);
  }

  /**
   * Decides a request in JSON like {@link #decide}, with the cache's own timeout.
   *
   * @param ignoresUnknown whether unknown members are ignored
   * @param trace as in {@link #decide}
   */
  public CompletableFuture<Verdict> decideJson(
      byte[] body, boolean ignoresUnknown, @Nullable RequestTrace trace)
      throws InvalidRequestException {
    return decide(RateLimitJson.read(body, ignoresUnknown), null, trace);
  }

  private Verdict verdict(List<CheckOutcome> outcomes) {
    RateLimitResponse.Builder response = RateLimitResponse.newBuilder().setOverallCode(Code.OK);
    CheckOutcome.Decided deciding = null;
    for (CheckOutcome outcome : outcomes) {
      if (!(outcome instanceof CheckOutcome.Decided decided)) {
        return new Verdict.NotAnswered(outcome);
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
    return new Verdict.Answered(response.build());
  }

  /**
   * Returns whether a call is more relevant to the caller than another. A denied call is more
   * relevant than an allowed call. Of two denied calls, the call with the longer wait is more
   * relevant. Of two allowed calls, the call with the smaller remaining fraction of its limit is
   * more relevant.
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
    LimitStatus limit = call.recordedLimit();
    return limit == null
        ? Double.MAX_VALUE
        : (double) limit.remainingTokens() / Math.max(1, limit.limit().capacityTokens());
  }

  private static long waitMicros(CheckOutcome.Decided call) {
    CheckOutcome.Denial denial = call.denial();
    return denial == null
        ? 0
        : denial.costExceedsCapacity() ? Long.MAX_VALUE : denial.retryAfterMicros();
  }
}
