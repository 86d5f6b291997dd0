// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A node's verdict on a call. Immutable.
 *
 * @param id the call's id
 * @param client the client's name, even if the request contained an API key instead of the name
 * @param decidedBy the component that decided the call: {@code cache}, {@code deny-cache}, {@code
 *     lease}, {@code local}, {@code fail-open}, {@code fail-closed} or {@code none}
 * @param durability durability of the call's record: {@code journaled}, {@code acked} or {@code
 *     dropped}; null if the node does not report the durability
 * @param policiesVersion version of the published policies with which the node decided the call
 * @param retryAfter time until every enforced bucket has enough tokens; zero if the call is
 *     allowed, or if a retry cannot succeed
 * @param delay time for which the caller must delay the call because of a queue; zero without a
 *     queue
 * @param slot slot that the call holds while it is in progress; null without a slot
 * @param limits the state of each matching policy's bucket, in the order of the policies
 * @param usagePosition position of the call's record, for reports and settlements; null if the call
 *     was not recorded
 * @param fields header fields of the response that describe limits for the caller: {@code
 *     RateLimit}, {@code RateLimit-Policy}, {@code Retry-After} and {@code X-RateLimit-*}. A call
 *     in a batch has only {@code Retry-After}
 */
public record Verdict(
    String id,
    String client,
    String decidedBy,
    @Nullable String durability,
    long policiesVersion,
    Duration retryAfter,
    Duration delay,
    @Nullable HeldSlot slot,
    List<PolicyState> limits,
    @Nullable String usagePosition,
    Map<String, String> fields) {
  public Verdict {
    limits = List.copyOf(limits);
    fields = Map.copyOf(fields);
  }
}
