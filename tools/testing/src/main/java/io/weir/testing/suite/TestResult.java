// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.nio.file.Path;

/**
 * The result of one test in a report of Surefire or Failsafe.
 *
 * @param module the module's folder
 * @param plugin the plugin that ran the test
 * @param className the fully qualified name of the test class
 * @param method the test method, with the arguments of a parameterized test; empty if the result is
 *     for the whole class
 * @param seconds duration of the test in seconds
 * @param outcome the outcome of the test
 * @param message the reason why the test failed or was skipped; empty if the test passed at the
 *     first attempt
 * @param details the stack trace of the first failure; empty if the test did not fail
 * @param output the file with the output of the class; this file may not exist
 */
record TestResult(
    String module,
    Plugin plugin,
    String className,
    String method,
    double seconds,
    Outcome outcome,
    String message,
    String details,
    Path output) {

  /** The Maven plugin that runs a test. */
  enum Plugin {
    /** Runs {@code …Test}. */
    SUREFIRE("surefire-reports"),
    /** Runs {@code …IT}. */
    FAILSAFE("failsafe-reports");

    private final String folder;

    Plugin(String folder) {
      this.folder = folder;
    }

    /** Returns the name of the folder in {@code target} that contains the plugin's reports. */
    String folder() {
      return folder;
    }
  }

  /** The outcome of a test, as in the reports. */
  enum Outcome {
    /** The test passed. */
    PASSED,
    /** An assertion failed. */
    FAILED,
    /** The test threw another exception. */
    BROKEN,
    /** The test failed, and passed when Maven repeated it. */
    FLAKY,
    /** The test was skipped. */
    SKIPPED
  }

  /** Returns the simple class name and the method. */
  String name() {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    return method.isEmpty() ? simple : simple + "." + method;
  }

  /** Returns whether the test ran and did not pass. */
  boolean isWrong() {
    return outcome == Outcome.FAILED || outcome == Outcome.BROKEN;
  }
}
