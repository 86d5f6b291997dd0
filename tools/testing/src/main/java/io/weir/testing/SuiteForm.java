// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.util.ArrayList;
import java.util.List;

/**
 * How much of the suite a run includes, set by the system property {@code weir.suite}: {@code
 * short} (the default), {@code all}, {@code turn-0}, {@code turn-1}, {@code turn-2}, each of which
 * is the short form and a third of what it leaves out, or {@code third-0}, {@code third-1}, {@code
 * third-2}, each a part of the short form: all unit tests and a third of the integration tests.
 *
 * @param name value of the property
 */
public record SuiteForm(String name) {
  /** Number of turns among which the tests are divided that the short form leaves out. */
  public static final int TURNS = 3;

  private static final String PROPERTY = "weir.suite";
  private static final String SHORT = "short";
  private static final String ALL = "all";
  private static final String TURN = "turn-";
  private static final String THIRD = "third-";
  private static final String INTEGRATION_TEST = "IT";

  /**
   * Creates a form by its name.
   *
   * @throws IllegalArgumentException if there is no such form
   */
  public SuiteForm {
    if (!name.matches("short|all|(turn|third)-[0-" + (TURNS - 1) + "]")) {
      throw new IllegalArgumentException(
          PROPERTY
              + " must be short, all, turn-0 to turn-"
              + (TURNS - 1)
              + " or third-0 to third-"
              + (TURNS - 1)
              + ", is '"
              + name
              + "'");
    }
  }

  /** Returns the form of this run. */
  public static SuiteForm current() {
    return new SuiteForm(System.getProperty(PROPERTY, SHORT));
  }

  /** Returns the form that runs everything. */
  public static SuiteForm all() {
    return new SuiteForm(ALL);
  }

  /** Returns the form that runs what always runs, and one turn of the rest. */
  public static SuiteForm turn(int turn) {
    return new SuiteForm(TURN + turn);
  }

  /** Returns the form that runs the unit tests, and a third of the integration tests. */
  public static SuiteForm third(int third) {
    return new SuiteForm(THIRD + third);
  }

  /** Returns the form that runs only what always runs. */
  public static SuiteForm ofShort() {
    return new SuiteForm(SHORT);
  }

  /** Returns whether this form includes a turn of what the short form leaves out. */
  public boolean includes(int turn) {
    if (turn < 0 || turn >= TURNS) {
      throw new IllegalArgumentException("turn must be 0 to " + (TURNS - 1) + ", is " + turn);
    }
    return name.equals(ALL) || name.equals(TURN + turn);
  }

  /**
   * Returns whether this form runs the tests of a class that always run; false only for two thirds
   * of the integration tests, told by their names, in a form that runs a third of them.
   */
  public boolean includesClass(String simpleName) {
    if (!name.startsWith(THIRD) || !simpleName.endsWith(INTEGRATION_TEST)) {
      return true;
    }
    return name.equals(THIRD + Math.floorMod(simpleName.hashCode(), TURNS));
  }

  /**
   * Returns the elements of a list that belong to this form. The elements are distributed among the
   * turns in rotation; the short form has none of them, the whole suite all.
   */
  public <T> List<T> share(List<T> all) {
    List<T> share = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      if (includes(i % TURNS)) {
        share.add(all.get(i));
      }
    }
    return share;
  }

  /** Returns the Maven argument that sets this form. */
  public String mavenArgument() {
    return "-D" + PROPERTY + "=" + name;
  }

  @Override
  public String toString() {
    return name;
  }
}
