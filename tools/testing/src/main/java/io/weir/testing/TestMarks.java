// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Prints a line where a test begins and one where it ends, so that the output of a test class can
 * be divided into that of its tests.
 */
public final class TestMarks implements TestExecutionListener {
  /** Precedes the name of a test's method where it begins. */
  public static final String BEGIN = "--- begins: ";

  /** Precedes the name of a test's method where it ends. */
  public static final String END = "--- ended: ";

  @Override
  public void executionStarted(TestIdentifier test) {
    mark(BEGIN, test);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    mark(END, test);
  }

  private static void mark(String mark, TestIdentifier test) {
    if (test.isTest()) {
      test.getSource()
          .filter(MethodSource.class::isInstance)
          .map(MethodSource.class::cast)
          .ifPresent(source -> System.out.println(mark + source.getMethodName()));
    }
  }
}
