// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.nio.file.Path;

/**
 * The result of one test in a report of Surefire or Failsafe.
 *
 * @param module the module's folder
 * @param plugin the plugin that ran it
 * @param className its class, with the package
 * @param method its method, with the arguments of a parameterized test; empty if the entry stands
 *     for the whole class
 * @param seconds how long it took
 * @param outcome how it ended
 * @param message why it failed, or why it was left out; empty if it passed at once
 * @param details the stack trace of its first failure; else empty
 * @param output the file with the output of the class; need not exist
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

    /** Returns the folder of its reports, below {@code target}. */
    String folder() {
      return folder;
    }
  }

  /** How a test ended, in the terms of the reports. */
  enum Outcome {
    /** It passed. */
    PASSED,
    /** It failed by an assertion. */
    FAILED,
    /** It failed by another exception. */
    BROKEN,
    /** It failed, and passed when it was run again. */
    FLAKY,
    /** It was left out. */
    SKIPPED
  }

  /** Returns the class without its package, and the method. */
  String name() {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    return method.isEmpty() ? simple : simple + "." + method;
  }

  /** Returns whether it ran and did not pass. */
  boolean isWrong() {
    return outcome == Outcome.FAILED || outcome == Outcome.BROKEN;
  }
}
