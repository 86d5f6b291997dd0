// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** The bucket states that a cache stores, by key. */
@FunctionalInterface
public interface KeptBuckets {
  /** Returns the bucket state that is stored under a key; null if there is no state. */
  @Nullable BucketState state(String bucket);

  /** Returns the log that is stored under a key; null if there is no log. */
  default @Nullable LogState log(String bucket) {
    return null;
  }

  /** Returns the slots that are stored under a key; null if there are no slots. */
  default @Nullable SlotState slots(String bucket) {
    return null;
  }
}
