// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a node says of a call that it has decided. Immutable.
 *
 * @param id the call's id
 * @param client the client's name, also if the call named its API key
 * @param decidedBy who decided within Weir: {@code cache}, {@code deny-cache}, {@code lease},
 *     {@code local}, {@code fail-open}, {@code fail-closed} or {@code none}
 * @param durability how safe the call's record is: {@code journaled}, {@code acked} or {@code
 *     dropped}; null if the node does not say
 * @param policiesVersion version of the published policies by which it was decided
 * @param retryAfter time until every enforced bucket holds the cost; zero if the call is allowed,
 *     or if waiting does not help
 * @param delay how long the call is to be held before it is passed on, as its queue asks; zero if
 *     not at all
 * @param slot what the call holds while it is under way; null if nothing
 * @param limits the state of each matched policy, in the order of the policies
 * @param usagePosition the place of the call's record, for reports and settlements; null if the
 *     call was not recorded
 * @param fields header fields that tell a caller about limits ({@code RateLimit}, {@code
 *     RateLimit-Policy}, {@code Retry-After}, {@code X-RateLimit-*}), as the node has set them; of
 *     a call that was asked in a batch {@code Retry-After} alone
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
