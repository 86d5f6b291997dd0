// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.policy.ApiKeys;
import io.weir.limits.policy.PolicyMatcher;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the clients of calls by API key, and counts refused keys. */
final class KeyLookup {
  /** Calls with unknown keys. */
  final Counter unknown;

  /** Calls with expired keys. */
  final Counter expired;

  KeyLookup(MeterRegistry registry) {
    unknown = refused(registry, "unknown");
    expired = refused(registry, "expired");
  }

  private static Counter refused(MeterRegistry registry, String reason) {
    return Counter.builder("weir.api.keys.refused")
        .description("checks and peeks answered 401 because their API key is unknown or expired")
        .tag("reason", reason)
        .register(registry);
  }

  /**
   * Returns the call with the name of its client; null if the call's API key is unknown or expired.
   *
   * @param snapshot the policies that also decide the call
   * @param nowEpochMillis time by the cache's clock
   */
  @Nullable Call find(PolicyMatcher snapshot, CallRequest request, long nowEpochMillis) {
    if (request instanceof Call named) {
      return named;
    }
    KeyedCall keyed = (KeyedCall) request;
    ApiKeys.Owned owned = snapshot.apiKeys().find(keyed.apiKey());
    if (owned == null) {
      unknown.increment();
      return null;
    }
    if (owned.key().isExpired(nowEpochMillis)) {
      expired.increment();
      return null;
    }
    return keyed.of(owned.client());
  }

  /**
   * The calls of a batch that have a known client. {@code isFound} states for each request of the
   * batch whether its client is known.
   */
  record Found(List<Call> calls, List<Boolean> isFound) {
    /**
     * Returns the outcomes of all requests of the batch. {@code ofFound} contains the outcomes of
     * {@link #calls}.
     */
    List<CheckOutcome> outcomes(List<CheckOutcome> ofFound) {
      if (ofFound.size() == isFound.size()) {
        return ofFound;
      }
      List<CheckOutcome> outcomes = new ArrayList<>(isFound.size());
      int next = 0;
      for (boolean each : isFound) {
        outcomes.add(each ? ofFound.get(next++) : CheckOutcome.KeyRefused.INSTANCE);
      }
      return outcomes;
    }
  }

  /** Finds the clients of the calls of a batch, like {@link #find}. */
  Found find(PolicyMatcher snapshot, List<? extends CallRequest> requests, long nowEpochMillis) {
    List<Call> calls = new ArrayList<>(requests.size());
    List<Boolean> isFound = new ArrayList<>(requests.size());
    for (CallRequest request : requests) {
      Call call = find(snapshot, request, nowEpochMillis);
      isFound.add(call != null);
      if (call != null) {
        calls.add(call);
      }
    }
    return new Found(calls, isFound);
  }
}
