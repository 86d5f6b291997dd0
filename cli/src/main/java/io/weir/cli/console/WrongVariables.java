// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Reports all variables that are wrong or missing at once. A reader of settings stops at the first
 * wrong variable. This class then removes that variable or sets a placeholder, and reads again
 * until no further variable is wrong.
 */
public final class WrongVariables {
  /** Placeholders for variables that have no default. */
  private static final Map<String, String> STAND_INS =
      Map.of("WEIR_KAFKA", "127.0.0.1:9092", "WEIR_REDIS", "redis://127.0.0.1");

  private static final String BETWEEN_LINES = "\n      ";

  private WrongVariables() {}

  /**
   * Reads settings from an environment.
   *
   * @param read reads the settings; throws an {@link InvalidSettingException} whose message begins
   *     with the variable's name
   * @throws InvalidSettingException if any variable is wrong; the message has one line for each
   *     wrong variable
   */
  public static <T> T read(Map<String, String> environment, Function<Map<String, String>, T> read) {
    Map<String, String> rest = new HashMap<>(environment);
    Map<String, String> problems = new LinkedHashMap<>(); // by variable
    while (true) {
      try {
        T settings = read.apply(rest);
        if (problems.isEmpty()) {
          return settings;
        }
        break;
      } catch (InvalidSettingException wrong) {
        if (!setAside(wrong, rest, problems)) {
          break; // unset, but still wrong: another variable, already reported, is the cause
        }
      }
    }
    throw new InvalidSettingException(String.join(BETWEEN_LINES, problems.values()));
  }

  /**
   * Replaces the wrong variable by a placeholder, or removes it.
   *
   * @return whether the variable is reported for the first time
   */
  private static boolean setAside(
      InvalidSettingException wrong, Map<String, String> rest, Map<String, String> problems) {
    int before = problems.size();
    for (String problem : String.valueOf(wrong.getMessage()).split(BETWEEN_LINES, -1)) {
      String variable = problem.split(" ", 2)[0];
      problems.putIfAbsent(variable, problem);
      rest.remove(variable);
      if (STAND_INS.containsKey(variable)) {
        rest.put(variable, STAND_INS.getOrDefault(variable, ""));
      }
    }
    return problems.size() > before;
  }
}
