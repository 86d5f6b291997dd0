// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A compiled pattern of names. {@code *} matches any sequence of characters, including an empty
 * sequence. The match searches for each literal once, from left to right, without backtracking.
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

  /**
   * Compiles the pattern of an endpoint. As in route templates, {@code {name}} matches one segment
   * of a path: one or more characters other than a slash.
   */
  static NamePattern ofEndpoint(String pattern) {
    Matcher segments = Template.SEGMENT_NAME.matcher(pattern);
    if (!segments.find()) {
      return of(pattern);
    }
    List<Integer> steps = new ArrayList<>();
    int from = 0;
    do {
      Template.addText(steps, pattern.substring(from, segments.start()));
      steps.add(Template.SEGMENT);
      from = segments.end();
    } while (segments.find());
    Template.addText(steps, pattern.substring(from));
    return Template.of(steps);
  }

  /** Returns whether a pattern of a list matches a name. An empty list matches every name. */
  static boolean anyMatches(List<NamePattern> patterns, String name) {
    if (patterns.isEmpty()) {
      return true;
    }
    for (NamePattern pattern : patterns) {
      if (pattern.matches(name)) {
        return true;
      }
    }
    return false;
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
   * Matches names that have the given start and end, and between them the inner literals in order.
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

  /**
   * Matches a route template. The algorithm follows all possible matches at the same time, step by
   * step. The time is therefore at most proportional to the length of the name times the length of
   * the pattern.
   *
   * @param start literal start of every matching name
   * @param steps the steps between start and end: characters, {@link #SEGMENT} and {@link #STAR}
   * @param end literal end of every matching name
   */
  record Template(String start, List<Integer> steps, String end) implements NamePattern {
    /** The form of a segment wildcard in a pattern. */
    static final Pattern SEGMENT_NAME = Pattern.compile("\\{[A-Za-z_][A-Za-z0-9_.-]*}");

    /** A step that matches one or more characters other than a slash. */
    static final int SEGMENT = -1;

    /** A step that matches any sequence of characters. */
    static final int STAR = -2;

    public Template {
      steps = List.copyOf(steps);
    }

    private static void addText(List<Integer> steps, String text) {
      text.chars().forEach(c -> steps.add(c == '*' ? STAR : c));
    }

    /** Creates a template from all steps of a pattern. At least one step must be a wildcard. */
    static Template of(List<Integer> steps) {
      int first = 0;
      while (steps.get(first) >= 0) {
        first++;
      }
      int last = steps.size();
      while (steps.get(last - 1) >= 0) {
        last--;
      }
      return new Template(
          text(steps.subList(0, first)),
          steps.subList(first, last),
          text(steps.subList(last, steps.size())));
    }

    private static String text(List<Integer> characters) {
      StringBuilder text = new StringBuilder();
      characters.forEach(c -> text.append((char) (int) c));
      return text.toString();
    }

    @Override
    public boolean matches(String whole) {
      if (whole.length() < start.length() + end.length()
          || !whole.startsWith(start)
          || !whole.endsWith(end)) {
        return false;
      }
      String name = whole.substring(start.length(), whole.length() - end.length());
      // ends[n]: whether the steps that were processed can match the first n characters
      boolean[] ends = new boolean[name.length() + 1];
      ends[0] = true;
      for (int step : steps) {
        boolean isAny =
            switch (step) {
              case STAR -> overAny(ends);
              case SEGMENT -> overSegment(ends, name);
              default -> over((char) step, ends, name);
            };
        if (!isAny) {
          return false;
        }
      }
      return ends[name.length()];
    }

    // each of the next methods returns whether a match is still possible

    private static boolean overAny(boolean[] ends) {
      for (int i = 1; i < ends.length; i++) {
        ends[i] |= ends[i - 1];
      }
      return ends[ends.length - 1];
    }

    private static boolean overSegment(boolean[] ends, String name) {
      boolean isAny = false;
      boolean wasEnd = ends[0];
      ends[0] = false;
      for (int i = 1; i < ends.length; i++) {
        boolean isIn = name.charAt(i - 1) != '/' && (wasEnd || ends[i - 1]);
        wasEnd = ends[i];
        ends[i] = isIn;
        isAny |= isIn;
      }
      return isAny;
    }

    private static boolean over(char c, boolean[] ends, String name) {
      boolean isAny = false;
      for (int i = ends.length - 1; i > 0; i--) {
        ends[i] = ends[i - 1] && name.charAt(i - 1) == c;
        isAny |= ends[i];
      }
      ends[0] = false;
      return isAny;
    }
  }
}
