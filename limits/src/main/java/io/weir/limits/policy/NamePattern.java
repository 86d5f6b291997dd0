// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.List;

/**
 * A compiled name with wildcards: {@code *} stands for any run of characters, including an empty
 * one. Matching searches for each literal once, from left to right, without backtracking.
 * Immutable.
 */
sealed interface NamePattern {
  /** Returns whether the pattern matches a name. */
  boolean matches(String name);

  /** Compiles a pattern. */
  static NamePattern of(String pattern) {
    int star = pattern.indexOf('*');
    if (star < 0) {
      return new Exact(pattern);
    }
    List<String> literals = List.of(pattern.split("\\*+", -1));
    if (literals.stream().allMatch(String::isEmpty)) {
      return new Any();
    }
    int last = literals.size() - 1;
    return new Glob(literals.get(0), literals.subList(1, last), literals.get(last));
  }

  /** Matches every name. */
  record Any() implements NamePattern {
    @Override
    public boolean matches(String name) {
      return true;
    }
  }

  /** Matches one name. */
  record Exact(String text) implements NamePattern {
    @Override
    public boolean matches(String name) {
      return text.equals(name);
    }
  }

  /**
   * Matches names with the given start and end that contain the inner literals in between, in
   * order.
   */
  record Glob(String start, List<String> inner, String end) implements NamePattern {
    public Glob {
      inner = List.copyOf(inner);
    }

    @Override
    public boolean matches(String name) {
      int endIndex = name.length() - end.length();
      if (endIndex < start.length() || !name.startsWith(start) || !name.endsWith(end)) {
        return false;
      }
      int from = start.length();
      for (String literal : inner) {
        int found = name.indexOf(literal, from);
        if (found < 0 || found + literal.length() > endIndex) {
          return false;
        }
        from = found + literal.length();
      }
      return true;
    }
  }
}
