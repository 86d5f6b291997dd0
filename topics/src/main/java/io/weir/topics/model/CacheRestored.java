// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * A record that reports that the aggregator has published all live buckets of one partition, for a
 * cache that lost its state. The corrections of these buckets precede this record in the partition
 * of the corrections topic, and include every call decided before the loss. Immutable.
 *
 * @param generation the generation of the cache, as in {@link CacheLoss}
 * @param partition the partition
 * @param partitions the number of partitions; the cache is restored when every partition has this
 *     record
 * @param buckets the number of buckets published
 * @param asOfEpochMillis when the publication was complete, by the broker's clock
 */
public record CacheRestored(
    String generation, int partition, int partitions, long buckets, long asOfEpochMillis) {
  public CacheRestored {
    Names.require("generation", generation);
    if (partition < 0 || partition >= partitions || buckets < 0) {
      throw new IllegalArgumentException(
          "partition must be between 0 and partitions − 1, and buckets at least 0, but partition is "
              + partition
              + ", partitions is "
              + partitions
              + " and buckets is "
              + buckets);
    }
  }
}
