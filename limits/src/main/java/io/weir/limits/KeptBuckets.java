// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/** What a cache keeps under its keys. */
@FunctionalInterface
public interface KeptBuckets {
  /** Returns the state kept under a key; null if there is none. */
  @Nullable BucketState state(String bucket);

  /** Returns the log kept under a key; null if there is none. */
  default @Nullable LogState log(String bucket) {
    return null;
  }

  /** Returns the slots kept under a key; null if there are none. */
  default @Nullable SlotState slots(String bucket) {
    return null;
  }
}
