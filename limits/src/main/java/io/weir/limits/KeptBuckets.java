// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** The stored states of a cache's buckets, by key. */
@FunctionalInterface
public interface KeptBuckets {
  /** Returns the state stored under a key; null if there is none. */
  @Nullable BucketState state(String bucket);

  /** Returns the log stored under a key; null if there is none. */
  default @Nullable LogState log(String bucket) {
    return null;
  }

  /** Returns the slots stored under a key; null if there are none. */
  default @Nullable SlotState slots(String bucket) {
    return null;
  }
}
