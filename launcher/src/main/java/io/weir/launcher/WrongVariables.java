// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.topics.settings.Settings.InvalidSettingException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Names all variables that are wrong or missing together. Who reads settings stops at the first
 * wrong one; so that one is set aside and the rest read again, until nothing new is found.
 */
final class WrongVariables {
  /** What stands in for variables that have no default. */
  private static final Map<String, String> STAND_INS =
      Map.of("WEIR_KAFKA", "127.0.0.1:9092", "WEIR_REDIS", "redis://127.0.0.1");

  private static final String BETWEEN_LINES = "\n      ";

  private WrongVariables() {}

  /**
   * Reads settings from an environment.
   *
   * @param read throws an {@link InvalidSettingException} that begins with the variable's name
   * @throws InvalidSettingException naming every variable that is wrong, a line each
   */
  static <T> T read(Map<String, String> environment, Function<Map<String, String>, T> read) {
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
          break; // what stays wrong without the variable has another cause, which was told
        }
      }
    }
    throw new InvalidSettingException(String.join(BETWEEN_LINES, problems.values()));
  }

  /** Whether a variable was set aside that had not been. */
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
