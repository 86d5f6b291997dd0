// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.nio.file.Path;

/**
 * What a report of Surefire or Failsafe says of one test.
 *
 * @param module the module's folder
 * @param plugin which of the two ran it
 * @param className its class, with the package
 * @param method its method, with the arguments of a parameterized test; empty if the entry stands
 *     for the whole class
 * @param seconds how long it took
 * @param outcome how it ended
 * @param message why it failed, or why it was left out; empty if it passed
 * @param details the stack trace of a failure; else empty
 * @param output the file that holds what the class has printed; need not exist
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

  /** Which Maven plugin runs a test. */
  enum Plugin {
    /** Runs {@code …Test}. */
    SUREFIRE("surefire-reports"),
    /** Runs {@code …IT}. */
    FAILSAFE("failsafe-reports");

    private final String folder;

    Plugin(String folder) {
      this.folder = folder;
    }

    /** The folder of its reports, below {@code target}. */
    String folder() {
      return folder;
    }
  }

  /** How a test ends; the words of the reports. */
  enum Outcome {
    /** As it should. */
    PASSED,
    /** By an assertion. */
    FAILED,
    /** By another exception. */
    BROKEN,
    /** Not at all: it was left out. */
    SKIPPED
  }

  /** The class without its package, and the method. */
  String name() {
    String simple = className.substring(className.lastIndexOf('.') + 1);
    return method.isEmpty() ? simple : simple + "." + method;
  }

  /** Whether it ran and did not pass. */
  boolean isWrong() {
    return outcome == Outcome.FAILED || outcome == Outcome.BROKEN;
  }
}
