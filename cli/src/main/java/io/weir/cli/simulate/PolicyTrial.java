// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.limits.ConcurrencyLimit;
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

/** Policies over a traffic: who would have been limited, and how often. Not thread-safe. */
public final class PolicyTrial implements AutoCloseable {
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
   * Begins a trial with full buckets.
   *
   * @param policies what is tried
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
   * What a client would have got. Immutable.
   *
   * @param client the client's name
   * @param calls how many calls it made
   * @param denied how many of them would have been denied
   * @param firstDenied when the first of them was made
   * @param policy the policy that would have denied most of them
   */
  public record Limited(
      String client, long calls, long denied, Instant firstDenied, String policy) {}

  /** Decides the next call; calls come in the order of their times. */
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

  /** Takes the cost from all buckets; the traffic does not tell how long slots would be held. */
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

  /** Returns how many calls were decided. */
  public long calls() {
    return calls;
  }

  /** Returns how many calls would have been denied. */
  public long denied() {
    return denied;
  }

  /** Returns why a policy could deny nothing of this traffic, by the policies' names. */
  public Map<String, String> withoutSay() {
    Map<String, String> why = new TreeMap<>();
    for (Policy policy : policies) {
      boolean needsAddress = policy.key().contains(KeyPart.IP) || !policy.match().ip().isEmpty();
      if (policy.mode() != PolicyMode.ENFORCE) {
        why.put(policy.name(), "is not enforced");
      } else if (policy.limit() instanceof ConcurrencyLimit) {
        why.put(
            policy.name(), "counts calls at once, and traffic does not tell how long they last");
      } else if (!policy.match().attributes().isEmpty()) {
        why.put(policy.name(), "looks at attributes, which the traffic does not have");
      } else if (needsAddress && !isAddressKnown) {
        why.put(policy.name(), "looks at addresses, which the traffic does not have");
      }
    }
    return why;
  }

  /** Returns the cost of the calls that would have been denied, together. */
  public long deniedCost() {
    return deniedCost;
  }

  /** Returns how many calls no policy matches. */
  public long unmatched() {
    return unmatched;
  }

  /** Returns how many clients have called. */
  public int clientCount() {
    return clients.size();
  }

  /** Returns how many calls each policy would have denied, by its name. */
  public Map<String, Long> denialsByPolicy() {
    return denialsByPolicy;
  }

  /** Returns the clients that would have been limited, the most limited first. */
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
