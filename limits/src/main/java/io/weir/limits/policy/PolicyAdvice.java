// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.BillingCalendar;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.FixedWindow;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Finds probable mistakes in a valid set of policies. Advice may be wrong: it is meant for a person
 * before a roll-out, and rejects nothing.
 */
public final class PolicyAdvice {
  /**
   * Characters that suggest a regular expression. Braces are not included because templates use
   * them ({@code {id}}).
   */
  private static final Pattern REGULAR_EXPRESSION = Pattern.compile("[\\^$\\[\\]()|\\\\]|\\.[*+]");

  private static final String ANY = "*";

  private static final String EVERY_METER =
      "applies to every meter, so calls of each meter take their cost from its bucket; write"
          + " meter: [calls] if calls are meant";

  private final PolicySet set;
  private final List<Policy> policies;
  private final List<Advice> advice = new ArrayList<>();

  private PolicyAdvice(PolicySet set) {
    this.set = set;
    this.policies =
        set.policies().stream().filter(policy -> policy.mode() != PolicyMode.OFF).toList();
  }

  /**
   * One piece of advice.
   *
   * @param subject the subject of the sentence, for instance a policy's name
   * @param text the predicate of the sentence: the probable mistake and its reason
   */
  public record Advice(String subject, String text) {
    /** Returns advice on a policy. */
    public static Advice on(Policy policy, String text) {
      return new Advice("'" + policy.name() + "'", text);
    }
  }

  /**
   * Returns the advice on a set, in the order of its policies, then on its calendars; empty if
   * nothing looks wrong.
   */
  public static List<Advice> of(PolicySet set) {
    PolicyAdvice adviser = new PolicyAdvice(set);
    adviser.policies.forEach(adviser::look);
    adviser.lookAtCalendars();
    return List.copyOf(adviser.advice);
  }

  /**
   * Reports the calendars of clients that have no effect. No limit uses such a calendar, and the
   * client is billed by UTC months with and without it. The name is misspelt, or the entry is
   * obsolete.
   */
  private void lookAtCalendars() {
    List<PolicyMatch> matches =
        policies.stream().filter(PolicyAdvice::runsByCalendar).map(Policy::match).toList();
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
                  + " under clients without effect: no quota or calendar window applies to calls"
                  + " of that name, and bills use UTC months with and without it"));
    }
  }

  private static boolean runsByCalendar(Policy policy) {
    return policy.limit() instanceof CalendarQuota
        || (policy.limit() instanceof FixedWindow window
            && window.alignment() == FixedWindow.Alignment.CALENDAR);
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
                    "and '"
                        + other.name()
                        + "' replace each other: a call that both match has neither limit"));
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
                + ": no policy limits the calls instead");
      }
    }
    policies.stream()
        .filter(other -> !other.name().equals(policy.name()) && leavesNothingTo(other, policy))
        .findFirst()
        .ifPresent(
            other ->
                advise(
                    policy,
                    "never decides: '"
                        + other.name()
                        + "' applies to all of its calls, and its limit is no wider"));
  }

  private void lookAtPatterns(Policy policy, String field, List<String> patterns) {
    for (String pattern : patterns) {
      if (REGULAR_EXPRESSION.matcher(pattern).find()) {
        advise(
            policy,
            "match."
                + field
                + " '"
                + pattern
                + "' looks like a regular expression; * matches any sequence of characters, and"
                + " every other character matches itself");
      }
    }
  }

  /** Reports endpoints without a method, since gateways and libraries send one. */
  private void lookAtMethods(Policy policy, List<String> patterns) {
    for (String pattern : patterns) {
      if (pattern.startsWith("/")) {
        advise(
            policy,
            "match.endpoint '"
                + pattern
                + "' has no method, so it does not match the call 'GET "
                + pattern
                + "'; write 'GET "
                + pattern
                + "', or '* "
                + pattern
                + "' for every method");
      }
    }
  }

  /**
   * Returns advice on the policies that also limit bytes and other meters because they name no
   * meter. Policies with the same advice in {@link #of} are left out.
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
                (without.size() == 1 ? "names" : "name")
                    + " no meter, so calls of every meter (bytes, for instance) take their cost from"
                    + " one bucket; write meter: [calls] if calls are meant"));
  }

  /**
   * Reports a policy for which calls, bytes and tokens add up in one bucket, which is rarely
   * intended. Other meters are known only from policies that may apply to calls of the same client
   * and endpoint.
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
   * Returns whether a policy applies to every call to which another applies; false if the other is
   * for a more specific descriptor.
   */
  private static boolean appliesWherever(PolicyMatch one, PolicyMatch other) {
    return !one.isOfDescriptors() || one.attributes().equals(other.attributes());
  }

  /**
   * Returns whether a policy denies every call that another would deny. It must be enforced, apply
   * to all calls of the other, and have the same or wider buckets. Its limit must not be wider, and
   * it must behave the same without Redis. If each of two policies makes the other redundant, only
   * the first makes the second redundant.
   */
  private boolean leavesNothingTo(Policy tight, Policy policy) {
    if (tight.mode() != PolicyMode.ENFORCE
        || (policy.queues() && !tight.denies()) // it also delays calls
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

  /** Returns whether a policy applies to all clients, or is in each plan of the other policy. */
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
   * Returns whether calls that share a bucket of a policy also share a bucket of the wide policy.
   */
  private static boolean sharesBuckets(Policy wide, Policy policy) {
    return policy.key().containsAll(wide.key())
        && (wide.isOfOneClient() == policy.isOfOneClient() || !runsByCalendar(wide))
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
   * Returns whether the wide patterns match every name that the narrow patterns match. A pattern
   * covers another if it matches the other's text, including its stars.
   */
  private static boolean covers(List<String> wide, List<String> narrow) {
    List<NamePattern> patterns = wide.stream().map(NamePattern::of).toList();
    List<String> texts = narrow.isEmpty() ? List.of("*") : narrow;
    return wide.isEmpty()
        || texts.stream()
            .allMatch(text -> patterns.stream().anyMatch(pattern -> pattern.matches(text)));
  }
}
