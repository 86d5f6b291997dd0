// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.IpAddress;
import io.weir.limits.SlotClaim;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.PolicyMatcher;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A call of a named client.
 *
 * @param facts the facts that policies match
 * @param cost tokens that the call takes, ≥ 1
 * @param id the id that the caller assigned; null if the node must create one
 * @param newId the id that the node created; null if the node has created no id
 * @param descriptor the descriptor that the call represents in a request of Envoy's rate limit
 *     service; null for other calls
 */
public record Call(
    CallFacts facts,
    long cost,
    @Nullable String id,
    @Nullable String newId,
    @Nullable Descriptor descriptor)
    implements CallRequest {
  /** Creates a call for which the node has created no id. */
  public Call(CallFacts facts, long cost, @Nullable String id) {
    this(facts, cost, id, null, null);
  }

  /** Returns the policies that match the call at the given time, by the cache's clock. */
  MatchedPolicies match(PolicyMatcher snapshot, long nowEpochMillis) {
    return descriptor == null
        ? snapshot.match(facts, nowEpochMillis)
        : descriptor.apply(snapshot.matchAll(facts, nowEpochMillis), facts, nowEpochMillis);
  }

  /**
   * Returns this call, with a new id if a policy with slots matches and the call has no id. The id
   * identifies the holder of the slots.
   */
  Call identified(MatchedPolicies matched, Supplier<String> newIds) {
    return id != null || newId != null || !matched.hasSlots()
        ? this
        : new Call(facts, cost, null, newIds.get(), descriptor);
  }

  /**
   * Returns a copy of the call for which the given policies are replaced (see {@link Descriptor}).
   */
  Call withReplacedPolicies(Set<String> replaced) {
    return descriptor == null
        ? this
        : new Call(facts, cost, id, newId, descriptor.withReplacedPolicies(replaced));
  }

  /**
   * Returns the claim with which the call requests slots.
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
