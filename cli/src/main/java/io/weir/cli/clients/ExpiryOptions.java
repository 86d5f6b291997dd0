// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

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

/** Options that set when a key or token expires. */
final class ExpiryOptions {
  private static final Pattern SHORT_DURATION = Pattern.compile("(\\d{1,9})([dhm])");
  private static final Duration LONGEST = Duration.ofDays(36_500);

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  @Option(
      names = "--expires-in",
      paramLabel = "D",
      description = "time until the key or token expires, such as 90d, 12h or PT30M")
  private @Nullable String expiresIn;

  @Option(
      names = "--expires-at",
      paramLabel = "T",
      description =
          "time at which the key or token expires, such as 2027-01-01T00:00:00Z (default: never)")
  private @Nullable Instant expiresAt;

  /**
   * Returns the time of expiry; null if the key or token never expires. With {@code --expires-in},
   * the time is in whole seconds.
   */
  @Nullable Instant moment(Instant now) {
    if (expiresIn != null && expiresAt != null) {
      throw wrong("give --expires-in or --expires-at, not both");
    }
    if (expiresIn != null) {
      return now.plus(length(expiresIn)).truncatedTo(ChronoUnit.SECONDS);
    }
    if (expiresAt != null && !expiresAt.isAfter(now)) {
      throw wrong("--expires-at must be in the future, but is " + expiresAt);
    }
    return expiresAt;
  }

  /** Returns a description of the time of expiry. */
  static String describe(@Nullable Instant moment) {
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
      // the check below reports the text with the same message
    }
    if (length.compareTo(Duration.ofMinutes(1)) < 0 || length.compareTo(LONGEST) > 0) {
      throw wrong(
          "--expires-in must be a duration from 1m to 36500d such as 90d, 12h or PT30M,"
              + " but is '"
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
