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
import java.io.PrintWriter;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Applies policies to traffic. Counts the calls of each client that the policies would have denied,
 * and prints the counts. Not thread-safe.
 */
final class PolicyTrial implements AutoCloseable {
  /** Maximum number of clients that are printed. */
  private static final int SHOWN_CLIENTS = 20;

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
  PolicyTrial(PolicySet policies) {
    this.matcher = PolicyMatcher.of(policies);
    this.policies = policies.policies();
    policies.policies().forEach(policy -> denialsByPolicy.put(policy.name(), 0L));
  }

  /** The counts of one client. */
  private static final class Client {
    private final String name;
    private long calls;
    private long denied;
    private long firstDeniedMicros;
    private final Map<String, Long> byPolicy = new TreeMap<>();

    Client(String name) {
      this.name = name;
    }

    long denied() {
      return denied;
    }

    Instant firstDenied() {
      return Instant.ofEpochSecond(firstDeniedMicros / MICROS_PER_SECOND);
    }

    /** Returns the policy that would have denied the most calls. */
    String denyingPolicy() {
      return byPolicy.entrySet().stream()
          .max(Map.Entry.comparingByValue())
          .map(Map.Entry::getKey)
          .orElse("");
    }
  }

  /** Decides the next call. Calls must come in order of time. */
  void decide(SimulatedCall call) {
    nowMicros = call.atMicros();
    isAddressKnown |= call.ip() != null;
    MatchedPolicies matched =
        matcher.match(
            new CallFacts(call.client(), call.endpoint(), call.meter(), call.ip(), Map.of()),
            nowMicros / MICROS_PER_MILLI);
    Client client = clients.computeIfAbsent(call.client(), Client::new);
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

  /**
   * Takes the cost from all buckets, and returns the policy that denies the call; null if no policy
   * does. Slots are left out, because the traffic does not show how long calls would hold them.
   */
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

  /** Returns the reasons why some policies cannot deny calls of this traffic, by policy name. */
  private Map<String, String> withoutSay() {
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

  /**
   * Prints the results.
   *
   * @param decided the decided calls, at least one, in order of time
   */
  void print(List<SimulatedCall> decided, PrintWriter out) {
    List<Client> limited =
        clients.values().stream()
            .filter(client -> client.denied > 0)
            .sorted(
                Comparator.comparingLong(Client::denied)
                    .reversed()
                    .thenComparing(client -> client.name))
            .toList();
    out.printf(
        "%s of %s from %s to %s%n",
        count(calls, "call", "calls"),
        count(clients.size(), "client", "clients"),
        Instant.ofEpochSecond(decided.get(0).atMicros() / MICROS_PER_SECOND),
        Instant.ofEpochSecond(decided.get(decided.size() - 1).atMicros() / MICROS_PER_SECOND));
    out.printf(
        "%s (%.1f %%) of %s would have been denied, at a cost of %,d%n",
        count(denied, "call", "calls"),
        100.0 * denied / calls,
        count(limited.size(), "client", "clients"),
        deniedCost);
    if (unmatched > 0) {
      out.printf(
          "%s no policy%n",
          unmatched == 1 ? "1 call matches" : String.format("%,d calls match", unmatched));
    }
    out.printf("%n%-30s %12s%n", "policy", "denied");
    denialsByPolicy.forEach((policy, calls) -> out.printf("%-30s %,12d%n", policy, calls));
    withoutSay().forEach((policy, why) -> out.printf("'%s' %s%n", policy, why));
    if (!limited.isEmpty()) {
      out.printf(
          "%n%-30s %12s %12s   %-20s   %s%n", "client", "calls", "denied", "first", "mostly by");
      limited.stream()
          .limit(SHOWN_CLIENTS)
          .forEach(
              client ->
                  out.printf(
                      "%-30s %,12d %,12d   %-20s   %s%n",
                      client.name,
                      client.calls,
                      client.denied,
                      client.firstDenied(),
                      client.denyingPolicy()));
      if (limited.size() > SHOWN_CLIENTS) {
        out.printf("and %,d more clients%n", limited.size() - SHOWN_CLIENTS);
      }
    }
  }

  private static String count(long number, String singular, String plural) {
    return String.format("%,d %s", number, number == 1 ? singular : plural);
  }

  @Override
  public void close() {
    cache.close();
  }
}
