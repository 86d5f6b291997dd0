// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * All live buckets of one partition have been published again for a cache that lost its state: they
 * stand before this in the partition of the corrections topic, and every call decided before the
 * loss is included in them.
 *
 * @param generation the life of the cache, as in {@link CacheLoss}
 * @param partition the partition
 * @param partitions how many there are: the cache is restored when all have said so
 * @param buckets how many buckets were published
 * @param asOfEpochMillis when it was complete, by the broker's clock
 */
public record CacheRestored(
    String generation, int partition, int partitions, long buckets, long asOfEpochMillis) {
  public CacheRestored {
    Names.require("generation", generation);
    if (partition < 0 || partition >= partitions || buckets < 0) {
      throw new IllegalArgumentException(
          "partition " + partition + " of " + partitions + ", buckets " + buckets);
    }
  }
}
