// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.settings;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The environment variables of a process, as typed values. An unset or empty variable has its
 * default value. The exception for an invalid variable states the name, the rule and the value.
 * Immutable.
 */
public final class Settings {
  private static final int MAX_PORT = 65_535;

  /**
   * One address. As in Kafka, the name of a listener may precede the host, and an IPv6 address is
   * in brackets.
   */
  private static final Pattern ADDRESS =
      Pattern.compile("(?:[A-Za-z_]+://)?(?:\\[[0-9A-Fa-f:.%]+]|[A-Za-z0-9._-]+):([0-9]{1,5})");

  private final Map<String, String> variables;

  private Settings(Map<String, String> variables) {
    this.variables = Map.copyOf(variables);
  }

  /** Thrown when a variable is invalid or missing. The message states the variable. */
  public static final class InvalidSettingException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    public InvalidSettingException(String message) {
      super(message);
    }
  }

  /** Returns the settings of an environment. */
  public static Settings of(Map<String, String> variables) {
    return new Settings(variables);
  }

  /** Returns a string, or the default. */
  public String text(String variable, String absent) {
    String value = variables.get(variable);
    return value == null || value.isEmpty() ? absent : value;
  }

  /**
   * Returns the values of all variables whose names begin with a prefix, by name, without empty
   * values.
   */
  public SortedMap<String, String> startingWith(String prefix) {
    SortedMap<String, String> found = new TreeMap<>();
    variables.forEach(
        (variable, value) -> {
          if (variable.startsWith(prefix) && !value.isEmpty()) {
            found.put(variable, value);
          }
        });
    return found;
  }

  /**
   * Returns a required string.
   *
   * @param meaning meaning of the value, for the message
   * @throws InvalidSettingException if the variable is not set
   */
  public String required(String variable, String meaning) {
    String value = text(variable, "");
    if (value.isEmpty()) {
      throw new InvalidSettingException(variable + " is not set; set it to " + meaning);
    }
    return value;
  }

  /**
   * Returns Kafka's addresses as {@code host:port}, separated by commas. The variable is required.
   *
   * @throws InvalidSettingException if the variable is not set or is not a list of addresses
   */
  public String bootstrapServers(String variable) {
    String addresses = required(variable, "Kafka's bootstrap servers, host:port");
    for (String address : addresses.split(",", -1)) {
      Matcher parts = ADDRESS.matcher(address.strip());
      if (!parts.matches() || Integer.parseInt(parts.group(1)) > MAX_PORT) {
        throw new InvalidSettingException(
            variable + " must be a comma-separated list of host:port, but is '" + addresses + "'");
      }
    }
    return addresses;
  }

  /**
   * Requires that variables are set. One exception reports all missing variables.
   *
   * @param meanings meaning of each variable's value, for the message
   * @throws InvalidSettingException if a variable is not set
   */
  public void requireAll(Map<String, String> meanings) {
    String missing =
        meanings.entrySet().stream()
            .filter(variable -> text(variable.getKey(), "").isEmpty())
            .sorted(Map.Entry.comparingByKey())
            .map(variable -> variable.getKey() + " is not set; set it to " + variable.getValue())
            .collect(Collectors.joining("\n      "));
    if (!missing.isEmpty()) {
      throw new InvalidSettingException(missing);
    }
  }

  /**
   * Returns an integer in {@code [min, max]}, or the default.
   *
   * @throws InvalidSettingException if the value is not an integer in the range
   */
  public long integer(String variable, long absent, long min, long max) {
    String value = text(variable, Long.toString(absent));
    try {
      long number = Long.parseLong(value);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException notANumber) {
      // rejected below, with the same message
    }
    throw new InvalidSettingException(
        variable + " must be an integer from " + min + " to " + max + ", but is '" + value + "'");
  }

  /**
   * Returns a TCP port, or the default; 0 selects any free port.
   *
   * @throws InvalidSettingException if the value is not a port
   */
  public int port(String variable, int absent) {
    return (int) integer(variable, absent, 0, MAX_PORT);
  }

  /**
   * Returns an ISO 8601 duration in {@code [min, max]}, or the default.
   *
   * @throws InvalidSettingException if the value is not a duration in the range
   */
  public Duration duration(String variable, Duration absent, Duration min, Duration max) {
    String value = text(variable, absent.toString());
    try {
      Duration duration = Duration.parse(value);
      if (duration.compareTo(min) >= 0 && duration.compareTo(max) <= 0) {
        return duration;
      }
    } catch (DateTimeParseException notADuration) {
      // rejected below, with the same message
    }
    throw new InvalidSettingException(
        variable
            + " must be an ISO 8601 duration from "
            + min
            + " to "
            + max
            + ", but is '"
            + value
            + "'");
  }

  /**
   * Returns the enum constant whose name in lower case equals the variable's value; the default if
   * the variable has no value.
   *
   * @throws InvalidSettingException if no constant has that name
   */
  public <E extends Enum<E>> E choice(String variable, E absent) {
    String value = text(variable, word(absent));
    for (E constant : absent.getDeclaringClass().getEnumConstants()) {
      if (word(constant).equals(value)) {
        return constant;
      }
    }
    String words =
        Stream.of(absent.getDeclaringClass().getEnumConstants())
            .map(Settings::word)
            .collect(Collectors.joining(", "));
    throw new InvalidSettingException(
        variable + " must be one of " + words + ", but is '" + value + "'");
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
