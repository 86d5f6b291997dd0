// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import io.weir.testing.TestMarks;
import io.weir.testing.suite.TestResult.Outcome;
import io.weir.testing.suite.TestResult.Plugin;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** Prints the summary of a test run. Stateless. */
final class Summary {
  private static final int SLOWEST = 10;
  private static final int MAX_FAILURES = 20;
  private static final int MAX_TRACE_LINES = 25;
  private static final int MAX_OUTPUT_LINES = 60;

  private Summary() {}

  /** Prints each failed test with its message, its stack trace and its output. */
  static void printFailures(PrintWriter out, List<TestResult> results) throws IOException {
    List<TestResult> wrong = results.stream().filter(TestResult::isWrong).toList();
    for (TestResult result : wrong.stream().limit(MAX_FAILURES).toList()) {
      out.printf("%n== FAILED in %s: %s%n", result.module(), result.name());
      result.details().lines().limit(MAX_TRACE_LINES).forEach(out::println);
      List<String> output = outputOf(result);
      if (!output.isEmpty()) {
        out.printf(
            "-- the last lines of the test's output; the complete output is in " + "%s%n",
            result.output());
        output.forEach(out::println);
      }
    }
    if (wrong.size() > MAX_FAILURES) {
      out.printf("%n… and %d more tests failed%n", wrong.size() - MAX_FAILURES);
    }
  }

  /**
   * Prints each flaky test with its first stack trace. A flaky test failed, and passed when Maven
   * repeated it. A flaky test is a defect, although the run does not fail.
   */
  static void printFlaky(PrintWriter out, List<TestResult> results) {
    for (TestResult result : results) {
      if (result.outcome() == Outcome.FLAKY) {
        out.printf("%n== FLAKY in %s: %s%n", result.module(), result.name());
        result.details().lines().limit(MAX_TRACE_LINES).forEach(out::println);
      }
    }
  }

  /**
   * Returns the last lines of a test's output. In the output of the test class, the output of a
   * test is between two marks.
   */
  static List<String> outputOf(TestResult result) throws IOException {
    Path file = result.output();
    if (!Files.isRegularFile(file)) {
      return List.of();
    }
    String method = result.method().replaceFirst("[({\\[].*", "");
    Deque<String> all = new ArrayDeque<>();
    Deque<String> own = new ArrayDeque<>();
    boolean within = false;
    boolean found = false;
    // a killed process may have left an incomplete character
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(Files.newInputStream(file), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        keep(all, line);
        if (line.equals(TestMarks.BEGIN + method)) {
          within = true;
          found = true;
        } else if (line.equals(TestMarks.END + method)) {
          within = false;
        } else if (within) {
          keep(own, line);
        }
      }
    }
    return List.copyOf(found ? own : all);
  }

  private static void keep(Deque<String> last, String line) {
    last.add(line);
    if (last.size() > MAX_OUTPUT_LINES) {
      last.remove();
    }
  }

  /** Prints the tests that took the longest. */
  static void printSlowest(PrintWriter out, List<TestResult> results) {
    out.printf("%nThe slowest tests:%n");
    results.stream()
        .sorted(Comparator.comparingDouble(TestResult::seconds).reversed())
        .limit(SLOWEST)
        .forEach(
            result ->
                out.printf(
                    Locale.ROOT,
                    "%6.1f s  %s: %s%n",
                    result.seconds(),
                    result.module(),
                    result.name()));
  }

  /**
   * Prints the skipped tests and the reasons.
   *
   * @param parts parts of the suite that were not run
   */
  static void printLeftOut(PrintWriter out, List<TestResult> results, List<String> parts) {
    out.printf("%nLeft out:%n");
    parts.forEach(part -> out.printf("  %s%n", part));
    for (TestResult result : results) {
      if (result.outcome() == Outcome.SKIPPED) {
        out.printf("  %s: %s (%s)%n", result.module(), result.name(), result.message().strip());
      }
    }
  }

  /** Prints the counts of each module, in the format of the two plugins. */
  static void printCounts(PrintWriter out, List<TestResult> results) {
    Map<String, List<TestResult>> byPlugin = new TreeMap<>();
    for (Plugin plugin : Plugin.values()) {
      for (TestResult result : results) {
        if (result.plugin() == plugin) {
          byPlugin
              .computeIfAbsent(
                  result.module() + ", " + plugin.name().toLowerCase(Locale.ROOT),
                  none -> new ArrayList<>())
              .add(result);
        }
      }
    }
    out.println();
    byPlugin.forEach(
        (name, of) -> {
          out.printf("[INFO] %s%n", name);
          out.println(counts(of));
        });
  }

  /** Returns one line of counts in the format of Surefire. */
  static String counts(List<TestResult> results) {
    return String.format(
        Locale.ROOT,
        "[%s] Tests run: %d, Failures: %d, Errors: %d, Skipped: %d",
        results.stream().anyMatch(TestResult::isWrong) ? "ERROR" : "INFO",
        results.size(),
        count(results, Outcome.FAILED),
        count(results, Outcome.BROKEN),
        count(results, Outcome.SKIPPED));
  }

  private static long count(List<TestResult> results, Outcome outcome) {
    return results.stream().filter(result -> result.outcome() == outcome).count();
  }
}
