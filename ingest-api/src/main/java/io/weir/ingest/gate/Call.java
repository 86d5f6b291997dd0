// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.IpAddress;
import io.weir.limits.SlotClaim;
import io.weir.limits.policy.CallFacts;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A call of a client that is named.
 *
 * @param facts what policies look at
 * @param cost tokens that the call takes, ≥ 1
 * @param id the caller's idempotency key; null if the server shall create one
 * @param newId the id that the server has created; null if it has created none yet
 * @param descriptor what the call stands for, if it was asked about by Envoy's rate limit service;
 *     else null
 */
public record Call(
    CallFacts facts,
    long cost,
    @Nullable String id,
    @Nullable String newId,
    @Nullable Descriptor descriptor)
    implements CallRequest {
  /** Creates a call for which the server has created no id. */
  public Call(CallFacts facts, long cost, @Nullable String id) {
    this(facts, cost, id, null, null);
  }

  /** Returns the same call with an id, whether it has one already or not. */
  Call identified(Supplier<String> newIds) {
    return id != null || newId != null
        ? this
        : new Call(facts, cost, null, newIds.get(), descriptor);
  }

  /** Returns the same call beside those of other descriptors, whose policies replace some. */
  Call beside(Set<String> replaced) {
    return descriptor == null
        ? this
        : new Call(facts, cost, id, newId, descriptor.beside(replaced));
  }

  /**
   * Returns the call's claim to slots.
   *
   * @throws IllegalStateException if the call has no id yet
   */
  SlotClaim claim() {
    String ofHolder = id == null ? newId : id;
    if (ofHolder == null) {
      throw new IllegalStateException("the call has no id yet");
    }
    return SlotClaim.of(facts.client(), ofHolder);
  }

  /** Creates a call without attributes. */
  public Call(
      String client,
      String endpoint,
      String meter,
      long cost,
      @Nullable String id,
      @Nullable IpAddress ip) {
    this(new CallFacts(client, endpoint, meter, ip, Map.of()), cost, id);
  }
}
