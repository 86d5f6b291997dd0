// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.limits.IpNetwork;
import io.weir.limits.policy.ColdCacheMode;
import io.weir.limits.policy.IpPrefix;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.NameList;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;

/** Formats policies as text. */
public final class PolicyText {
  private PolicyText() {}

  /**
   * Returns a policy in one line. Optional fields appear only if they differ from their defaults.
   */
  public static String of(Policy policy) {
    StringBuilder line =
        new StringBuilder()
            .append(lower(policy.mode()))
            .append(", ")
            .append(policy.limit().describe())
            .append(", key ")
            .append(policy.key().stream().map(PolicyText::lower).toList())
            .append(ipPrefix(policy))
            .append(", on cache failure ")
            .append(lower(policy.onCacheFailure()));
    if (policy.onColdCache() != ColdCacheMode.ALLOW) {
      line.append(", on cold cache ").append(lower(policy.onColdCache()));
    }
    if (policy.debtCapTokens() != policy.limit().capacityTokens()) {
      line.append(", debt cap ").append(policy.debtCapTokens());
    }
    if (!policy.replaces().isEmpty()) {
      line.append(", replaces ").append(NameList.of(policy.replaces(), "and"));
    }
    return line.toString();
  }

  /** Returns the calls that a policy matches: {@code every call}, or the patterns of the policy. */
  public static String of(PolicyMatch match) {
    List<String> parts = new ArrayList<>();
    add(parts, "client", match.client());
    add(parts, "endpoint", match.endpoint());
    add(parts, "meter", match.meter());
    add(parts, "ip", match.ip().stream().map(IpNetwork::toString).toList());
    new TreeMap<>(match.attributes())
        .forEach((name, patterns) -> add(parts, "attribute " + name, patterns));
    return parts.isEmpty() ? "every call" : String.join("; ", parts);
  }

  private static String ipPrefix(Policy policy) {
    IpPrefix prefix = policy.ipPrefix();
    return policy.key().contains(KeyPart.IP)
        ? " of IPv4 /" + prefix.ipv4() + ", IPv6 /" + prefix.ipv6()
        : "";
  }

  private static void add(List<String> parts, String field, List<String> patterns) {
    if (!patterns.isEmpty()) {
      parts.add(field + " " + anyOf(patterns));
    }
  }

  /** Returns patterns joined by "or"; if there are many patterns, only the first patterns. */
  public static String anyOf(List<String> patterns) {
    return NameList.of(patterns, "or");
  }

  /** Returns an enum constant in the spelling of policy files. */
  public static String lower(Enum<?> word) {
    return word.name().toLowerCase(Locale.ROOT);
  }

  /** Returns a number with the singular or plural of its noun. */
  public static String count(long number, String singular, String plural) {
    return number + " " + (number == 1 ? singular : plural);
  }
}
