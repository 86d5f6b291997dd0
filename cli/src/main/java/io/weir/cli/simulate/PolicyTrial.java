// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Applies policies to traffic: counts the calls of each client that they would have denied. Not
 * thread-safe.
 */
final class PolicyTrial implements AutoCloseable {
  private static final long MICROS_PER_MILLI = 1_000;
  private static final long MICROS_PER_SECOND = 1_000_000;

  private final PolicyMatcher matcher;
  private final List<Policy> policies;
  private boolean isAddressKnown;
  private long nowMicros = 1;
  private final MemoryDecisionCache cache = new MemoryDecisionCache(() -> nowMicros);
  private final Map<String, Client> clients = new HashMap<>();
  private final Map<String, Long> denialsByPolicy = new TreeMap<>();
  private long calls;
  private long denied;
  private long unmatched;
  private long deniedCost;

  /**
   * Creates a trial with full buckets.
   *
   * @param policies the policies to apply
   */
  public PolicyTrial(PolicySet policies) {
    this.matcher = PolicyMatcher.of(policies);
    this.policies = policies.policies();
    policies.policies().forEach(policy -> denialsByPolicy.put(policy.name(), 0L));
  }

  private static final class Client {
    private long calls;
    private long denied;
    private long firstDeniedMicros;
    private final Map<String, Long> byPolicy = new TreeMap<>();
  }

  /**
   * The result for one client. Immutable.
   *
   * @param client the client's name
   * @param calls number of calls that it made
   * @param denied number of calls that would have been denied
   * @param firstDenied time of the first of these calls
   * @param policy the policy that would have denied most of them
   */
  public record Limited(
      String client, long calls, long denied, Instant firstDenied, String policy) {}

  /** Decides the next call. Calls must come in order of time. */
  public void decide(SimulatedCall call) {
    nowMicros = call.atMicros();
    isAddressKnown |= call.ip() != null;
    MatchedPolicies matched =
        matcher.match(
            new CallFacts(call.client(), call.endpoint(), call.meter(), call.ip(), Map.of()),
            nowMicros / MICROS_PER_MILLI);
    Client client = clients.computeIfAbsent(call.client(), name -> new Client());
    client.calls++;
    calls++;
    if (matched.isEmpty()) {
      unmatched++;
      return;
    }
    MatchedPolicy denying = matched.blocking();
    if (denying == null) {
      denying = denying(matched, call.cost());
    }
    if (denying != null) {
      deny(client, denying.policy().name());
      deniedCost += call.cost();
    }
  }

  /** Takes the cost from all buckets. The traffic does not show how long calls would hold slots. */
  private @Nullable MatchedPolicy denying(MatchedPolicies matched, long cost) {
    List<MatchedPolicy> asked =
        matched.evaluated().stream().filter(match -> !match.bucket().hasSlots()).toList();
    if (asked.isEmpty()) {
      return null;
    }
    Check check = new Check(asked.stream().map(MatchedPolicy::bucket).toList(), cost);
    return cache.take(check) instanceof Decision.Denied denied
        ? asked.get(denied.decidingBucket())
        : null;
  }

  private void deny(Client client, String policy) {
    denied++;
    client.denied++;
    if (client.denied == 1) {
      client.firstDeniedMicros = nowMicros;
    }
    client.byPolicy.merge(policy, 1L, Long::sum);
    denialsByPolicy.merge(policy, 1L, Long::sum);
  }

  /** Returns the number of calls. */
  public long calls() {
    return calls;
  }

  /** Returns the number of calls that would have been denied. */
  public long denied() {
    return denied;
  }

  /** Returns the reasons why some policies cannot deny calls of this traffic, by policy name. */
  public Map<String, String> withoutSay() {
    Map<String, String> why = new TreeMap<>();
    for (Policy policy : policies) {
      boolean needsAddress = policy.key().contains(KeyPart.IP) || !policy.match().ip().isEmpty();
      if (policy.mode() != PolicyMode.ENFORCE) {
        why.put(policy.name(), "is not enforced");
      } else if (policy.limit().limitsConcurrency()) {
        why.put(
            policy.name(),
            "limits concurrent calls, and the traffic does not show their durations");
      } else if (!policy.match().attributes().isEmpty()) {
        why.put(policy.name(), "depends on attributes, which the traffic does not have");
      } else if (needsAddress && !isAddressKnown) {
        why.put(policy.name(), "depends on addresses, which the traffic does not have");
      }
    }
    return why;
  }

  /** Returns the total cost of the calls that would have been denied. */
  public long deniedCost() {
    return deniedCost;
  }

  /** Returns the number of calls that match no policy. */
  public long unmatched() {
    return unmatched;
  }

  /** Returns the number of clients. */
  public int clientCount() {
    return clients.size();
  }

  /** Returns the number of calls that each policy would have denied, by policy name. */
  public Map<String, Long> denialsByPolicy() {
    return denialsByPolicy;
  }

  /** Returns the clients that would have been limited, ordered by the number of denied calls. */
  public List<Limited> limited() {
    return clients.entrySet().stream()
        .filter(entry -> entry.getValue().denied > 0)
        .map(entry -> limited(entry.getKey(), entry.getValue()))
        .sorted(Comparator.comparingLong(Limited::denied).reversed().thenComparing(Limited::client))
        .toList();
  }

  private static Limited limited(String name, Client client) {
    String most =
        client.byPolicy.entrySet().stream()
            .max(Map.Entry.comparingByValue())
            .map(Map.Entry::getKey)
            .orElse("");
    Instant first = Instant.ofEpochSecond(client.firstDeniedMicros / MICROS_PER_SECOND);
    return new Limited(name, client.calls, client.denied, first, most);
  }

  @Override
  public void close() {
    cache.close();
  }
}
