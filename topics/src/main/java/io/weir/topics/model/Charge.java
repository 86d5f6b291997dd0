// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BucketLimit;
import io.weir.limits.Numbers;
import org.jspecify.annotations.Nullable;

/**
 * The number of tokens that one call took, or should have taken, from one bucket. Immutable.
 *
 * <p>If the stamp is null, the node admitted the call while the cache was unavailable, and a
 * correction takes the cost from the bucket later. If the cost is 0, the bucket denied the call:
 * the call took nothing, but the stamp states the bucket's state.
 *
 * @param bucket the bucket's key in the decision cache
 * @param cost number of tokens that the call took, ≥ 0
 * @param limit the bucket's limit when the call was decided; null in old records
 * @param stamp the state that the cache reported; null if the cache was not queried
 */
public record Charge(String bucket, long cost, @Nullable BucketLimit limit, @Nullable Stamp stamp) {
  public Charge {
    Numbers.require("cost", cost, 0);
    if (stamp != null && stamp.charged() < cost) {
      throw new IllegalArgumentException(
          "charged must be at least the cost " + cost + ", but is " + stamp.charged());
    }
  }
}
