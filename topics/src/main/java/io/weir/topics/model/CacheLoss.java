// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import io.weir.limits.Numbers;

/**
 * The record that the cache has lost its state, or may have reverted to an older state. A node
 * writes it to every partition of the calls topic. Every earlier record of a partition is therefore
 * known to precede it. Immutable.
 *
 * @param generation the generation of the cache to restore; its restoration is announced under this
 *     name
 * @param foundAtEpochMillis when the node found the loss, by the node's estimate of the cache's
 *     clock. Calls and low watermarks have the times of the same estimate
 */
public record CacheLoss(String generation, long foundAtEpochMillis) {
  public CacheLoss {
    Names.require("generation", generation);
    Numbers.require("found_at_ms", foundAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }
}
