// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BillingCalendar;
import io.weir.limits.ClientCalendar;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Finds probable mistakes in a valid set of policies. A person reads the advice before a roll-out.
 * Advice may be wrong, and Weir rejects no policy because of it.
 */
public final class PolicyAdvice {
  /**
   * Characters that suggest a regular expression. The pattern does not include braces because
   * templates use them ({@code {id}}).
   */
  private static final Pattern REGULAR_EXPRESSION = Pattern.compile("[\\^$\\[\\]()|\\\\]|\\.[*+]");

  private static final String ANY = "*";

  private static final String EVERY_METER =
      "applies to every meter, so its buckets count calls, bytes and other meters together; write"
          + " meter: [calls] to count only the meter 'calls'";

  private final PolicySet set;
  private final List<Policy> policies;
  private final List<Advice> advice = new ArrayList<>();

  private PolicyAdvice(PolicySet set) {
    this.set = set;
    this.policies =
        set.policies().stream().filter(policy -> policy.mode() != PolicyMode.OFF).toList();
  }

  /**
   * A piece of advice on one subject.
   *
   * @param subject subject of the sentence, such as the name of a policy
   * @param text rest of the sentence: the probable mistake and its reason
   */
  public record Advice(String subject, String text) {
    /** Returns advice on a policy. */
    public static Advice on(Policy policy, String text) {
      return new Advice("'" + policy.name() + "'", text);
    }
  }

  /**
   * Returns the advice on a set: first on its policies, in their order, and then on its calendars.
   * The result is empty if there is no advice.
   */
  public static List<Advice> of(PolicySet set) {
    PolicyAdvice adviser = new PolicyAdvice(set);
    adviser.policies.forEach(adviser::look);
    adviser.lookAtCalendars();
    return List.copyOf(adviser.advice);
  }

  /**
   * Adds advice on clients whose calendars have no effect: no limit uses the calendar, and the
   * client is billed by UTC months anyway. The client's name is probably misspelled, or the entry
   * is obsolete.
   */
  private void lookAtCalendars() {
    List<PolicyMatch> matches =
        policies.stream()
            .filter(policy -> policy.limit().followsCalendar())
            .map(Policy::match)
            .toList();
    if (matches.stream().anyMatch(match -> match.client().isEmpty())) {
      return;
    }
    List<NamePattern> patterns =
        matches.stream().flatMap(match -> match.client().stream()).map(NamePattern::of).toList();
    List<String> idle =
        set.clients().settings().entrySet().stream()
            .filter(entry -> !entry.getValue().calendar().equals(ClientCalendar.OF_POLICY))
            .filter(entry -> BillingCalendar.of(entry.getValue().calendar()) == null)
            .map(Map.Entry::getKey)
            .filter(client -> patterns.stream().noneMatch(pattern -> pattern.matches(client)))
            .sorted()
            .toList();
    if (!idle.isEmpty()) {
      advice.add(
          new Advice(
              NameList.of(idle, "and"),
              (idle.size() == 1 ? "has a calendar" : "have calendars")
                  + " in 'clients' without effect: no quota or calendar window applies, and bills"
                  + " use UTC months"));
    }
  }

  private void look(Policy policy) {
    PolicyMatch match = policy.match();
    lookAtPatterns(policy, "client", match.client());
    lookAtPatterns(policy, "endpoint", match.endpoint());
    lookAtMethods(policy, match.endpoint());
    lookAtPatterns(policy, "meter", match.meter());
    new TreeMap<>(match.attributes())
        .forEach((name, patterns) -> lookAtPatterns(policy, "attributes." + name, patterns));
    lookAtMeter(policy);
    policies.stream()
        .filter(other -> other.replaces().contains(policy.name()))
        .filter(other -> policy.replaces().contains(other.name()))
        .findFirst()
        .ifPresent(
            other ->
                advise(
                    policy,
                    "and '%s' replace each other, so neither policy limits a call that both match"
                        .formatted(other.name())));
    if (policy.mode() == PolicyMode.SHADOW) {
      List<String> enforced =
          policies.stream()
              .filter(other -> other.mode() == PolicyMode.ENFORCE)
              .map(Policy::name)
              .filter(policy.replaces()::contains)
              .map(name -> "'" + name + "'")
              .toList();
      if (!enforced.isEmpty()) {
        advise(
            policy,
            "is in shadow mode, but replaces "
                + NameList.of(enforced, "and")
                + ", so no policy limits the calls");
      }
    }
    policies.stream()
        .filter(other -> !other.name().equals(policy.name()) && leavesNothingTo(other, policy))
        .findFirst()
        .ifPresent(
            other ->
                advise(
                    policy,
                    "has no effect: '"
                        + other.name()
                        + "' applies to the same calls, and its limit is not greater"));
  }

  private void lookAtPatterns(Policy policy, String field, List<String> patterns) {
    for (String pattern : patterns) {
      if (REGULAR_EXPRESSION.matcher(pattern).find()) {
        advise(
            policy,
            ("match.%s '%s' looks like a regular expression; * matches any sequence of characters,"
                    + " and every other character matches itself")
                .formatted(field, pattern));
      }
    }
  }

  /**
   * Adds advice on endpoint patterns without a method, because gateways and libraries send the
   * method.
   */
  private void lookAtMethods(Policy policy, List<String> patterns) {
    for (String pattern : patterns) {
      if (pattern.startsWith("/")) {
        advise(
            policy,
            ("match.endpoint '%1$s' has no method, so it does not match the call 'GET %1$s'; write"
                    + " 'GET %1$s', or '* %1$s' for every method")
                .formatted(pattern));
      }
    }
  }

  /**
   * Returns advice on policies that also limit bytes and other meters because they name no meter.
   * The result leaves out policies for which {@link #of} returns the same advice.
   */
  public static List<Advice> onMissingMeters(PolicySet set) {
    List<Advice> known = of(set);
    List<String> without =
        set.policies().stream()
            .filter(policy -> policy.mode() != PolicyMode.OFF && !policy.denies())
            .filter(policy -> policy.match().meter().isEmpty())
            .filter(policy -> !policy.match().isOfDescriptors())
            .filter(policy -> !known.contains(Advice.on(policy, EVERY_METER)))
            .map(policy -> "'" + policy.name() + "'")
            .toList();
    return without.isEmpty()
        ? List.of()
        : List.of(
            new Advice(
                NameList.of(without, "and"),
                (without.size() == 1 ? "names no meter, so its" : "name no meter, so their")
                    + " buckets also count other meters, such as bytes; write meter: [calls] to"
                    + " count only the meter 'calls'"));
  }

  /**
   * Adds advice on a policy whose bucket adds up calls, bytes and other meters, which is rarely
   * intended. The method finds the other meters in policies that can apply to calls of the same
   * client and endpoint.
   */
  private void lookAtMeter(Policy policy) {
    boolean otherMeters =
        policies.stream()
            .filter(other -> mayMeet(other.match(), policy.match()))
            .flatMap(other -> other.match().meter().stream())
            .anyMatch(meter -> !meter.equals(PolicyMatch.METER_OF_CALLS) && !meter.equals(ANY));
    boolean anyMeter = policy.match().meter().isEmpty() || policy.match().meter().contains(ANY);
    if (anyMeter && otherMeters && policy.limit().capacityTokens() > 0) {
      advise(policy, EVERY_METER);
    }
  }

  private static boolean mayMeet(PolicyMatch one, PolicyMatch other) {
    return mayMeet(one.client(), other.client()) && mayMeet(one.endpoint(), other.endpoint());
  }

  private static boolean mayMeet(List<String> one, List<String> other) {
    return one.isEmpty()
        || other.isEmpty()
        || one.stream()
            .map(List::of)
            .anyMatch(
                pattern ->
                    other.stream()
                        .map(List::of)
                        .anyMatch(each -> covers(each, pattern) || covers(pattern, each)));
  }

  private void advise(Policy policy, String text) {
    advice.add(Advice.on(policy, text));
  }

  /**
   * Returns whether policy {@code one} applies to every call of policy {@code other}; false if
   * {@code other} matches a more specific descriptor.
   */
  private static boolean appliesWherever(PolicyMatch one, PolicyMatch other) {
    return !one.isOfDescriptors() || one.attributes().equals(other.attributes());
  }

  /**
   * Returns whether {@code tight} denies every call that {@code policy} denies. Policy {@code
   * tight} must be enforced, and must apply to all calls of {@code policy}. Calls that share a
   * bucket of {@code policy} must also share a bucket of {@code tight}. The limit of {@code tight}
   * must not be greater, and both policies must behave the same without Redis. If each policy makes
   * the other policy redundant, the result is true only if {@code tight} comes first in the set.
   */
  private boolean leavesNothingTo(Policy tight, Policy policy) {
    if (tight.mode() != PolicyMode.ENFORCE
        || (policy.queues() && !tight.denies()) // a queue also delays calls
        || !covers(tight.match(), policy.match())
        || !appliesWherever(tight.match(), policy.match())
        || !isForAllClientsOf(tight, policy)
        || !sharesBuckets(tight, policy)
        || !tight.limit().isNoWiderThan(policy.limit())
        || !failsAlike(tight, policy)
        || policies.stream().anyMatch(other -> other.replaces().contains(tight.name()))) {
      return false;
    }
    boolean both =
        policy.mode() == PolicyMode.ENFORCE
            && covers(policy.match(), tight.match())
            && isForAllClientsOf(policy, tight)
            && sharesBuckets(policy, tight)
            && policy.limit().isNoWiderThan(tight.limit());
    return !both || policies.indexOf(tight) < policies.indexOf(policy);
  }

  /**
   * Returns whether {@code wide} applies to all clients, or is in every plan that names {@code
   * policy}.
   */
  private boolean isForAllClientsOf(Policy wide, Policy policy) {
    Set<String> plans = plansOf(wide);
    return plans.isEmpty() || (!plansOf(policy).isEmpty() && plans.containsAll(plansOf(policy)));
  }

  private Set<String> plansOf(Policy policy) {
    return set.clients().plans().entrySet().stream()
        .filter(plan -> plan.getValue().contains(policy.name()))
        .map(Map.Entry::getKey)
        .collect(Collectors.toSet());
  }

  /**
   * Returns whether calls that share a bucket of {@code policy} also share a bucket of {@code
   * wide}.
   */
  private static boolean sharesBuckets(Policy wide, Policy policy) {
    return policy.key().containsAll(wide.key())
        && (wide.isOfOneClient() == policy.isOfOneClient() || !wide.limit().followsCalendar())
        && (!wide.key().contains(KeyPart.IP)
            || wide.ipPrefix().isNoNarrowerThan(policy.ipPrefix()));
  }

  private static boolean failsAlike(Policy tight, Policy policy) {
    return tight.denies()
        || (tight.onCacheFailure() == policy.onCacheFailure()
            && tight.onColdCache() == policy.onColdCache());
  }

  private static boolean covers(PolicyMatch wide, PolicyMatch narrow) {
    return covers(wide.client(), narrow.client())
        && covers(wide.endpoint(), narrow.endpoint())
        && covers(wide.meter(), narrow.meter())
        && (wide.ip().isEmpty() || wide.ip().equals(narrow.ip()))
        && (wide.attributes().isEmpty() || wide.attributes().equals(narrow.attributes()));
  }

  /**
   * Returns whether the wide patterns match every name that the narrow patterns match. A wide
   * pattern covers a narrow pattern if the wide pattern matches the text of the narrow pattern,
   * including the stars.
   */
  private static boolean covers(List<String> wide, List<String> narrow) {
    List<NamePattern> patterns = wide.stream().map(NamePattern::of).toList();
    List<String> texts = narrow.isEmpty() ? List.of("*") : narrow;
    return wide.isEmpty()
        || texts.stream()
            .allMatch(text -> patterns.stream().anyMatch(pattern -> pattern.matches(text)));
  }
}
