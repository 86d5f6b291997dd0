// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One descriptor of a configuration, with the descriptors below it. Immutable.
 *
 * @param key the key of the entry, not empty
 * @param value the value of the entry; a value that ends in {@code *} is a prefix; null for any
 *     value
 * @param limit the limit; null if there is none
 * @param isShadow whether the limit denies nothing
 * @param name the name of the limit, which other limits may share; null if it has none
 * @param replaces names of the limits that this limit replaces
 * @param children the descriptors below this descriptor
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
   * @param requests requests in a window, 0 to 2^32 − 1; −1 if unlimited
   * @param seconds length of the window
   */
  record Limit(long requests, long seconds) {
    /** An unlimited number of requests. */
    static final Limit NONE = new Limit(-1, 0);
  }

  /** Returns whether this node matches all values of another node with the same key. */
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
   * Returns the child that Envoy's service selects for the values of another node. A child with the
   * same value comes first, then the first matching prefix, then the child for any value. Returns
   * null if there is none.
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

  /** Returns whether the value is a prefix. */
  boolean isBeginning() {
    return value != null && value.endsWith("*");
  }

  /** Returns the paths from this node to each node with a limit, this node included. */
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
