// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.count.BucketStanding;
import org.jspecify.annotations.Nullable;

/** The store of buckets in {@code meter-core}: its name, and what its values say. Stateless. */
final class BucketTrackStore {
  /** The store's name; a store that does not exist holds no buckets. */
  static final String NAME = "buckets";

  private BucketTrackStore() {}

  /** The standing in a value; null when it holds none. */
  static @Nullable BucketStanding standing(byte[] value) {
    return null;
  }
}
