// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.ingest.policy.PolicyFile;
import io.weir.topics.model.CalendarQuota;
import io.weir.topics.model.ColdCacheMode;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyLimit;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.TokenBucketLimit;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Works on policy files. */
@Command(
    name = "policies",
    mixinStandardHelpOptions = true,
    description = "Validate a policy file before it is rolled out.")
final class PoliciesCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  @Command(
      name = "check",
      mixinStandardHelpOptions = true,
      description = "Validate a policy file; exit 1 and name every problem when it is wrong.")
  int check(@Parameters(paramLabel = "FILE", description = "the policy file (YAML)") Path file)
      throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    PolicyFile.Content content;
    try {
      content = PolicyFile.read(file);
    } catch (IOException unreadable) {
      throw new CommandFailedException("cannot read " + file + ": " + unreadable, unreadable);
    }
    if (content instanceof PolicyFile.Content.Invalid invalid) {
      List<String> problems = invalid.problems();
      problems.forEach(problem -> out.println(file + ": " + problem));
      out.printf("%d problem%s%n", problems.size(), problems.size() == 1 ? "" : "s");
      out.flush();
      return 1;
    }
    PolicySet set = ((PolicyFile.Content.Valid) content).policies();
    for (Policy policy : set.policies()) {
      out.printf("%-20s %s%n", policy.name(), describe(policy));
    }
    out.printf(
        "%s is valid: %d policies%s%n",
        file,
        set.policies().size(),
        set.calendars().isEmpty()
            ? ""
            : ", clients with a calendar of their own: " + set.calendars().size());
    out.flush();
    return 0;
  }

  /**
   * A policy in one line; what may be left out of a file is told only where it is not the default.
   */
  private static String describe(Policy policy) {
    StringBuilder line =
        new StringBuilder()
            .append(lower(policy.mode()))
            .append(", ")
            .append(describe(policy.limit()))
            .append(", key ")
            .append(policy.key().stream().map(PoliciesCommand::lower).toList())
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

  private static String describe(PolicyLimit limit) {
    if (limit instanceof CalendarQuota quota) {
      return String.format(
          "quota of %d tokens a %s in %s", quota.capacityTokens(), period(quota), quota.timeZone());
    }
    TokenBucketLimit bucket = (TokenBucketLimit) limit;
    return String.format(
        "capacity %d, %d tokens per %s",
        bucket.capacityTokens(),
        bucket.refillTokens(),
        Duration.of(bucket.refillPeriodMicros(), ChronoUnit.MICROS));
  }

  private static String period(CalendarQuota quota) {
    return switch (quota.period()) {
      case DAY -> "day";
      case WEEK -> "week (from Monday)";
      case MONTH -> "month";
      case BILLING -> "billing month (anchor " + quota.billingAnchor() + ")";
    };
  }

  private static String lower(Enum<?> word) {
    return word.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }
}
