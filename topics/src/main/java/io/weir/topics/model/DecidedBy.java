// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The component or rule that decided a call. */
public enum DecidedBy {
  /** The decision cache evaluated every bucket of the call. */
  CACHE("cache"),
  /**
   * The node denied the call without a request to the cache: the node repeated a recent denial, or
   * a policy denies every call.
   */
  DENY_CACHE("deny-cache"),
  /** The node used tokens that it had leased from the cache. */
  LEASE("lease"),
  /** The cache was unavailable, and the node decided by its share of the limit. */
  LOCAL("local"),
  /** The cache was unavailable, and the policy's failure mode allowed the call. */
  FAIL_OPEN("fail-open"),
  /** The cache was unavailable, and the policy's failure mode rejected the call. */
  FAIL_CLOSED("fail-closed"),
  /** No policy matched the call. */
  NONE("none");

  private static final Map<String, DecidedBy> BY_WIRE_NAME =
      Stream.of(values()).collect(Collectors.toUnmodifiableMap(DecidedBy::wireName, d -> d));

  private final String wireName;

  DecidedBy(String wireName) {
    this.wireName = wireName;
  }

  /** Returns the lower-case wire name. */
  public String wireName() {
    return wireName;
  }

  /** Returns the value with the given wire name; null if there is no such value. */
  public static @Nullable DecidedBy ofWireName(String wireName) {
    return BY_WIRE_NAME.get(wireName);
  }

  /**
   * Returns true for {@link #LOCAL} and {@link #FAIL_OPEN}: the node did not use the cache, because
   * the cache was unavailable.
   */
  public boolean withoutCache() {
    return this == FAIL_OPEN || this == LOCAL;
  }
}
