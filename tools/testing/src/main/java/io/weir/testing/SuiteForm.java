// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

/**
 * The part of the test suite that a run includes. The system property {@code weir.suite} sets it:
 * {@code short} (the default) or {@code all}.
 */
public final class SuiteForm {
  /** The name of the system property. */
  public static final String PROPERTY = "weir.suite";

  private SuiteForm() {}

  /**
   * Returns whether the run includes the tests marked with {@link FullSuite}.
   *
   * @throws IllegalArgumentException if the property has another value
   */
  public static boolean isAll() {
    String form = System.getProperty(PROPERTY, "short");
    return switch (form) {
      case "short" -> false;
      case "all" -> true;
      default ->
          throw new IllegalArgumentException(
              PROPERTY + " must be short or all, but is '" + form + "'");
    };
  }
}
