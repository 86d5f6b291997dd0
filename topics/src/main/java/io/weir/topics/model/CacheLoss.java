// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import io.weir.limits.Numbers;

/**
 * A record that reports that the cache has lost its state, or may have reverted to an older state.
 * A node writes this record to every partition of the calls topic. In each partition, all earlier
 * records were written before the node found the loss. Immutable.
 *
 * @param generation the generation of the cache that must be restored; {@link CacheRestored} refers
 *     to it
 * @param foundAtEpochMillis when the node found the loss, by the node's estimate of the cache's
 *     clock. The times of calls and the low watermarks come from the same estimate
 */
public record CacheLoss(String generation, long foundAtEpochMillis) {
  public CacheLoss {
    Names.require("generation", generation);
    Numbers.require("found_at_ms", foundAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }
}
