// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

/**
 * The amount of work of tests that repeat one check, such as model tests. The system property
 * {@code weir.suite} sets this amount: {@code short} (the default) or {@code full}, as in {@code
 * ./weir test --full}.
 */
public final class SuiteForm {
  /** The name of the system property. */
  public static final String PROPERTY = "weir.suite";

  private SuiteForm() {}

  /**
   * Returns whether tests that repeat one check do their full amount of work.
   *
   * @throws IllegalArgumentException if the property has another value
   */
  public static boolean isFull() {
    String form = System.getProperty(PROPERTY, "short");
    return switch (form) {
      case "short" -> false;
      case "full" -> true;
      default ->
          throw new IllegalArgumentException(
              PROPERTY + " must be short or full, but is '" + form + "'");
    };
  }
}
