// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import io.weir.cli.console.PolicyText;
import io.weir.ingest.gate.Descriptor;
import io.weir.ingest.rls.EntryNames;
import io.weir.limits.BillingCalendar;
import io.weir.limits.ClientCalendar;
import io.weir.limits.IpNetwork;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.check.Check;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.limits.policy.NameList;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Explains which policies decide a call, in which order, and why the other policies do not. */
final class PolicyExplanation {
  private final PolicySet set;
  private final CallFacts call;
  private final String client;

  PolicyExplanation(PolicySet set, CallFacts call) {
    this.set = set;
    this.call = call;
    this.client = call.client();
  }

  void print(PrintWriter out, Instant now) {
    PolicyMatcher matcher = PolicyMatcher.of(set);
    MatchedPolicies all = matcher.matchAll(call, now.toEpochMilli());
    MatchedPolicies specific = specific(all, now);
    MatchedPolicies matched = applying(matcher, all, now);
    out.printf(
        "client %s, endpoint %s, meter %s%s%s%n",
        client,
        call.endpoint(),
        call.meter(),
        call.ip() == null ? "" : ", from " + call.ip().network(call.ip().bits()),
        call.attributes().isEmpty() ? "" : ", " + new TreeMap<>(call.attributes()));
    ClientSettings settings = set.clients().settings().get(client);
    if (settings != null && !settings.calendar().equals(ClientCalendar.OF_POLICY)) {
      out.printf("the client has its own calendar: %s%n", describe(settings.calendar()));
      BillingCalendar billing = matched.billing();
      out.printf(
          "the client is billed by %s%n",
          billing == null ? "the months of UTC" : billing.describe());
    }
    if (settings == null && set.clients().unknown() == UnknownClients.LIMIT) {
      out.println("the client has no settings: it shares the buckets of all unknown clients");
    }
    if (settings == null && set.clients().unknown() == UnknownClients.REFUSE) {
      out.println("the client has no settings, and unknown clients are refused");
    }
    String plan = set.clients().planOf(settings);
    if (plan != null) {
      out.printf(
          "the client has the plan %s%s%n",
          plan, settings == null || settings.plan() == null ? ", which is the default" : "");
    }
    matched.evaluated().stream()
        .map(MatchedPolicy::policy)
        .filter(Policy::denies)
        .findFirst()
        .ifPresent(
            deny ->
                out.printf(
                    "every such call is blocked: '%s' denies it (429, reason blocked)%n",
                    deny.name()));
    if (matched.evaluated().stream()
        .anyMatch(match -> match.policy().equals(PolicyMatcher.UNMATCHED_CALLS))) {
      out.println("no enforced policy matches, and unmatched calls are refused");
    }
    if (matched.isEmpty()) {
      out.println("no policy matches: the call is allowed and counted (decided_by none)");
    }
    int number = 0;
    for (MatchedPolicy match : matched.evaluated()) {
      number++;
      out.printf("%2d. %-20s %s%n", number, match.policy().name(), PolicyText.of(match.policy()));
      out.printf("%24s bucket %s%n", "", match.bucket().bucket());
      PeriodicLimit.Span period = match.period();
      if (period != null) {
        out.printf(
            "%24s period %s to %s%n",
            "",
            Instant.ofEpochSecond(period.startEpochSecond()),
            Instant.ofEpochSecond(period.endEpochSecond()));
      }
    }
    Set<String> evaluated = names(matched);
    Set<String> applied = names(specific);
    Set<String> fitting = names(all);
    for (Policy policy : set.policies()) {
      if (!evaluated.contains(policy.name())) {
        out.printf(
            "  - %-20s %s%n",
            policy.name(),
            applied.contains(policy.name()) && !matched.leftOut().contains(policy)
                ? "not evaluated: replaced by " + replacers(policy, specific)
                : fitting.contains(policy.name()) && !matched.leftOut().contains(policy)
                    ? "not evaluated: a more specific policy matches the descriptor"
                    : whyNot(policy, matched.leftOut()));
      }
    }
  }

  /** Returns the Envoy descriptor that the call represents; null if the call represents none. */
  private @Nullable Descriptor descriptor() {
    String keys = call.attributes().get(Descriptor.KEYS);
    return keys == null ? null : new Descriptor(EntryNames.of(EntryNames.split(keys)), null);
  }

  /**
   * Returns the matching policies. If the call represents an Envoy descriptor, returns only the
   * most specific of these policies.
   */
  private MatchedPolicies specific(MatchedPolicies all, Instant now) {
    Descriptor descriptor = descriptor();
    return descriptor == null ? all : descriptor.select(all, call, now.toEpochMilli());
  }

  /** Returns the policies that apply to the call. */
  private MatchedPolicies applying(PolicyMatcher matcher, MatchedPolicies all, Instant now) {
    Descriptor descriptor = descriptor();
    return descriptor == null
        ? matcher.match(call, now.toEpochMilli())
        : descriptor.apply(all, call, now.toEpochMilli());
  }

  /** Returns the names of the policies that replace the given policy. */
  private static String replacers(Policy replaced, MatchedPolicies specific) {
    return NameList.of(
        specific.evaluated().stream()
            .map(MatchedPolicy::policy)
            .filter(policy -> policy.replaces().contains(replaced.name()))
            .map(Policy::name)
            .toList(),
        "and");
  }

  private static Set<String> names(MatchedPolicies matched) {
    return matched.evaluated().stream()
        .map(match -> match.policy().name())
        .collect(Collectors.toSet());
  }

  private static String describe(ClientCalendar calendar) {
    StringBuilder words = new StringBuilder();
    if (calendar.timeZone() != null) {
      words.append("time zone ").append(calendar.timeZone());
    }
    if (calendar.billingAnchor() != null) {
      words
          .append(words.length() == 0 ? "" : ", ")
          .append("billing anchor ")
          .append(calendar.billingAnchor());
    }
    return words.toString();
  }

  private String whyNot(Policy policy, List<Policy> leftOut) {
    if (policy.mode() == PolicyMode.OFF) {
      return "not evaluated: mode off";
    }
    if (leftOut.contains(policy)) {
      return "not evaluated: more than "
          + Check.MAX_BUCKETS
          + " policies match, and this policy is one of the last";
    }
    List<String> plans = plansOf(policy);
    String plan = set.clients().planOf(set.clients().settings().get(client));
    if (!plans.isEmpty() && (plan == null || !plans.contains(plan))) {
      return "not evaluated: is for plan " + PolicyText.anyOf(plans);
    }
    PolicyMatch match = policy.match();
    if (!fits(new PolicyMatch(match.client(), List.of(), List.of()))) {
      return "not evaluated: is for client " + PolicyText.anyOf(match.client());
    }
    if (!fits(new PolicyMatch(List.of(), match.endpoint(), List.of()))) {
      return "not evaluated: is for endpoint " + PolicyText.anyOf(match.endpoint());
    }
    if (!fits(new PolicyMatch(List.of(), List.of(), match.meter()))) {
      return "not evaluated: is for meter " + PolicyText.anyOf(match.meter());
    }
    return "not evaluated: " + whyNot(policy, plan);
  }

  /** Returns why a policy does not match a call whose client, endpoint and meter match. */
  private String whyNot(Policy policy, @Nullable String plan) {
    if (policy.key().contains(KeyPart.PLAN) && plan == null) {
      return "has a bucket for each plan, and the client has no plan";
    }
    if (policy.key().contains(KeyPart.IP) && call.ip() == null) {
      return "has a bucket for each address, and the call has no address (--ip)";
    }
    PolicyMatch match = policy.match();
    if (!match.ip().isEmpty()
        && (call.ip() == null
            || match.ip().stream().noneMatch(network -> network.contains(call.ip())))) {
      return "is for " + PolicyText.of(ofConditions(match.ip(), Map.of()));
    }
    return "is for " + PolicyText.of(ofConditions(List.of(), match.attributes()));
  }

  private static PolicyMatch ofConditions(
      List<IpNetwork> ip, Map<String, List<String>> attributes) {
    return new PolicyMatch(List.of(), List.of(), List.of(), ip, attributes);
  }

  private List<String> plansOf(Policy policy) {
    return set.clients().plans().entrySet().stream()
        .filter(plan -> plan.getValue().contains(policy.name()))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }

  private boolean fits(PolicyMatch match) {
    return UsedNames.matcher(match).fits(new UsedNames.Used(client, call.endpoint(), call.meter()));
  }
}
