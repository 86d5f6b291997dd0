// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import java.util.List;

/**
 * A named limit.
 *
 * @param name its name, unique among policies
 * @param match which calls it is for
 * @param key what has a bucket of its own; always holds CLIENT, so that the keys of one call share
 *     a hash slot
 * @param limit the bucket's size and speed
 * @param mode what its verdict does
 * @param onCacheFailure what to do while the cache cannot answer
 */
public record Policy(
    String name,
    PolicyMatch match,
    List<KeyPart> key,
    TokenBucketLimit limit,
    PolicyMode mode,
    FailureMode onCacheFailure) {
  public Policy {
    Names.require("name", name);
    key = List.copyOf(key);
    if (!key.contains(KeyPart.CLIENT)) {
      throw new IllegalArgumentException("key must contain client, is " + key);
    }
    if (key.stream().distinct().count() != key.size()) {
      throw new IllegalArgumentException("key must not repeat a part, is " + key);
    }
  }
}
