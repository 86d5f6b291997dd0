// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Who answered a check. */
public enum DecidedBy {
  /** The decision cache looked at every bucket of the call. */
  CACHE("cache"),
  /** A node remembered a recent deny and repeated it without asking the cache. */
  DENY_CACHE("deny-cache"),
  /** A node spent tokens it had leased from the cache before. */
  LEASE("lease"),
  /** The cache was away and the node decided alone with its share. */
  LOCAL("local"),
  /** The cache was away and the policy lets calls pass. */
  FAIL_OPEN("fail-open"),
  /** The cache was away and the policy refuses calls. */
  FAIL_CLOSED("fail-closed"),
  /** No policy matched the call. */
  NONE("none");

  private static final Map<String, DecidedBy> BY_WIRE_NAME =
      Stream.of(values()).collect(Collectors.toUnmodifiableMap(DecidedBy::wireName, d -> d));

  private final String wireName;

  DecidedBy(String wireName) {
    this.wireName = wireName;
  }

  /** The lower-case word on the wire. */
  public String wireName() {
    return wireName;
  }

  /** The value of a wire name, or null when there is none of that name. */
  public static @Nullable DecidedBy ofWireName(String wireName) {
    return BY_WIRE_NAME.get(wireName);
  }

  /** True when the call was let through, or judged, without the cache's state. */
  public boolean withoutCache() {
    return this == FAIL_OPEN || this == LOCAL;
  }
}
