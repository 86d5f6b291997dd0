// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One descriptor of a configuration, with those below it. Immutable.
 *
 * @param key the key of the entry, not empty
 * @param value its value; with {@code *} at its end any value that begins so; null for any value
 * @param limit what it limits; null if nothing
 * @param isShadow whether the limit denies nothing
 * @param name the name of the limit, which several limits may have; null if it has none
 * @param replaces names of limits whose place this one takes
 * @param children the descriptors below it
 */
record LimitNode(
    String key,
    @Nullable String value,
    @Nullable Limit limit,
    boolean isShadow,
    @Nullable String name,
    List<String> replaces,
    List<LimitNode> children) {
  LimitNode {
    replaces = List.copyOf(replaces);
    children = List.copyOf(children);
  }

  /**
   * A limit.
   *
   * @param requests requests in a window, 0 to 2^32 − 1; −1 if there is no bound
   * @param seconds length of the window
   */
  record Limit(long requests, long seconds) {
    /** Any number of requests. */
    static final Limit NONE = new Limit(-1, 0);
  }

  /** Returns whether all values of another node of the same key are values of this one, too. */
  boolean covers(LimitNode other) {
    if (!key.equals(other.key)) {
      return false;
    }
    String theirs = other.value;
    return value == null
        || (theirs != null
            && (theirs.equals(value)
                || (isBeginning() && theirs.startsWith(value.substring(0, value.length() - 1)))));
  }

  /**
   * Returns the child that is gone down to for the values of another node: one of the same value,
   * else the first of a beginning of it, else that of any value; null if there is none.
   */
  @Nullable LimitNode childFor(LimitNode other) {
    LimitNode found = null;
    for (LimitNode child : children) {
      if (!child.covers(other)) {
        continue;
      }
      if (Objects.equals(child.value, other.value)) {
        return child;
      }
      if (found == null || (found.value == null && child.value != null)) {
        found = child;
      }
    }
    return found;
  }

  /** Returns whether the value stands for all that begin so. */
  boolean isBeginning() {
    return value != null && value.endsWith("*");
  }

  /** Returns the paths of nodes from this one down to each that limits, itself included. */
  List<List<LimitNode>> limitedPaths() {
    List<List<LimitNode>> paths = new ArrayList<>();
    if (limit != null) {
      paths.add(List.of(this));
    }
    for (LimitNode child : children) {
      for (List<LimitNode> below : child.limitedPaths()) {
        List<LimitNode> path = new ArrayList<>();
        path.add(this);
        path.addAll(below);
        paths.add(path);
      }
    }
    return paths;
  }
}
