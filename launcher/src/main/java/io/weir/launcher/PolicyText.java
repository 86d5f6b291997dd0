// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.limits.policy.ColdCacheMode;
import io.weir.limits.policy.NameList;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Policies in words, for people. */
final class PolicyText {
  private PolicyText() {}

  /**
   * A policy in one line; what may be left out of a file is told only where it is not the default.
   */
  static String of(Policy policy) {
    StringBuilder line =
        new StringBuilder()
            .append(lower(policy.mode()))
            .append(", ")
            .append(policy.limit().describe())
            .append(", key ")
            .append(policy.key().stream().map(PolicyText::lower).toList())
            .append(", on cache failure ")
            .append(lower(policy.onCacheFailure()));
    if (policy.onColdCache() != ColdCacheMode.ALLOW) {
      line.append(", on cold cache ").append(lower(policy.onColdCache()));
    }
    if (policy.debtCapTokens() != policy.limit().capacityTokens()) {
      line.append(", debt cap ").append(policy.debtCapTokens());
    }
    return line.toString();
  }

  /** Which calls a policy is for: {@code every call}, or the patterns of what is told. */
  static String of(PolicyMatch match) {
    List<String> parts = new ArrayList<>();
    add(parts, "client", match.client());
    add(parts, "endpoint", match.endpoint());
    add(parts, "meter", match.meter());
    return parts.isEmpty() ? "every call" : String.join("; ", parts);
  }

  private static void add(List<String> parts, String field, List<String> patterns) {
    if (!patterns.isEmpty()) {
      parts.add(field + " " + anyOf(patterns));
    }
  }

  /** Patterns of which one must fit; of many the first ones. */
  static String anyOf(List<String> patterns) {
    return NameList.of(patterns, "or");
  }

  /** An enum's constant as a policy file writes it. */
  static String lower(Enum<?> word) {
    return word.name().toLowerCase(Locale.ROOT);
  }

  /** A number with the singular or the plural of what it counts. */
  static String count(long number, String singular, String plural) {
    return number + " " + (number == 1 ? singular : plural);
  }
}
