// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses the output of Maven line by line, and reports events of the build to a listener. Not
 * thread-safe.
 */
final class MavenLog {
  private static final Pattern BUILDING = Pattern.compile("\\[INFO] Building weir: (\\S+) .*");
  private static final Pattern CLASS_ENDED =
      Pattern.compile("\\[\\w+] Tests run: (\\d+), .*Time elapsed: [0-9.,]+ s.* -- in (\\S+)");
  private static final Pattern VERIFYING =
      Pattern.compile(
          "\\[INFO] --- (?:maven-)?failsafe(?:-plugin)?:\\S+:verify \\(default\\) @ (\\S+) ---");
  private static final Pattern MODULE_ENDED =
      Pattern.compile("\\[INFO] weir: (\\S+) \\.+ (SUCCESS|FAILURE|SKIPPED).*");
  private static final int MAX_ERRORS_KEPT = 60;

  private final Listener listener;
  private final List<String> errors = new ArrayList<>();
  private boolean errorsEnded;

  /** Receives the events of the build. */
  interface Listener {
    /** Called when Maven begins to build a module. */
    void moduleBegan(String module);

    /**
     * Called when a test class has ended.
     *
     * @param tests number of tests in the class
     */
    void classEnded(String className, int tests);

    /** Called when all tests of a module have run. */
    void moduleTested(String module);

    /** Called at the end of the build with the status of a module. */
    void moduleEnded(String module, String status);
  }

  MavenLog(Listener listener) {
    this.listener = listener;
  }

  /** Processes the next line. */
  void line(String line) {
    Matcher building = BUILDING.matcher(line);
    Matcher classEnded = CLASS_ENDED.matcher(line);
    Matcher verifying = VERIFYING.matcher(line);
    Matcher moduleEnded = MODULE_ENDED.matcher(line);
    if (building.matches()) {
      listener.moduleBegan(building.group(1));
    } else if (classEnded.matches()) {
      listener.classEnded(classEnded.group(2), Integer.parseInt(classEnded.group(1)));
    } else if (verifying.matches()) {
      listener.moduleTested(verifying.group(1));
    } else if (moduleEnded.matches()) {
      listener.moduleEnded(moduleEnded.group(1), moduleEnded.group(2));
    } else {
      keepError(line);
    }
  }

  private void keepError(String line) {
    errorsEnded |= line.startsWith("[ERROR] To see the full stack trace");
    Optional<String> text =
        line.startsWith("[ERROR] ") && !errorsEnded
            ? Optional.of(line.substring("[ERROR] ".length()).strip())
            : Optional.empty();
    text.filter(said -> !said.isEmpty() && errors.size() < MAX_ERRORS_KEPT).ifPresent(errors::add);
  }

  /** Returns Maven's first error messages, before the hint about the full stack trace. */
  List<String> errors() {
    return List.copyOf(errors);
  }
}
