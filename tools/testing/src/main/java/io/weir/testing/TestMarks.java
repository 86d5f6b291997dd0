// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Prints a line when a test begins, and another line when the test ends. These lines divide the
 * output of a test class into the output of its tests.
 */
public final class TestMarks implements TestExecutionListener {
  /** Prefix of the line that begins a test's output. The name of the test method follows. */
  public static final String BEGIN = "--- begins: ";

  /** Prefix of the line that ends a test's output. The name of the test method follows. */
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
