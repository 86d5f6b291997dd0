// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** When something that is made ends by itself. */
final class ExpiryOptions {
  private static final Pattern SHORT_DURATION = Pattern.compile("(\\d{1,9})([dhm])");
  private static final Duration LONGEST = Duration.ofDays(36_500);

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  @Option(
      names = "--expires-in",
      paramLabel = "D",
      description = "when it expires: so long from now, such as 90d, 12h or PT30M")
  private @Nullable String expiresIn;

  @Option(
      names = "--expires-at",
      paramLabel = "T",
      description = "when it expires: a time such as 2027-01-01T00:00:00Z (never)")
  private @Nullable Instant expiresAt;

  /** Returns the moment, in whole seconds; null for never. */
  @Nullable Instant moment(Instant now) {
    if (expiresIn != null && expiresAt != null) {
      throw wrong("give --expires-in or --expires-at, not both");
    }
    if (expiresIn != null) {
      return now.plus(length(expiresIn)).truncatedTo(ChronoUnit.SECONDS);
    }
    if (expiresAt != null && !expiresAt.isAfter(now)) {
      throw wrong("--expires-at must be in the future, is " + expiresAt);
    }
    return expiresAt;
  }

  /** Returns a moment in words. */
  static String told(@Nullable Instant moment) {
    return moment == null ? "does not expire" : "expires at " + moment;
  }

  private Duration length(String text) {
    Duration length = Duration.ZERO;
    Matcher parts = SHORT_DURATION.matcher(text);
    try {
      length =
          parts.matches()
              ? Duration.of(Long.parseLong(parts.group(1)), unit(parts.group(2)))
              : Duration.parse(text);
    } catch (DateTimeParseException notALength) {
      // reported below, in the same words
    }
    if (length.compareTo(Duration.ofMinutes(1)) < 0 || length.compareTo(LONGEST) > 0) {
      throw wrong(
          "--expires-in must be a length of time such as 90d, 12h or PT30M, of a minute to 36500d,"
              + " is '"
              + text
              + "'");
    }
    return length;
  }

  private static ChronoUnit unit(String letter) {
    return switch (letter) {
      case "d" -> ChronoUnit.DAYS;
      case "h" -> ChronoUnit.HOURS;
      default -> ChronoUnit.MINUTES;
    };
  }

  private CommandLine.ParameterException wrong(String problem) {
    return new CommandLine.ParameterException(spec.commandLine(), problem);
  }
}
