// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import io.weir.limits.Numbers;

/**
 * A node found that the cache has lost its state, or may have gone back in time. Written into every
 * partition of the calls topic, so that what was recorded before it is known to be before it.
 *
 * @param generation names the new life of the cache; its restoration is announced under this name
 * @param foundAtEpochMillis when the node found it, by the cache's clock as the node knows it, as
 *     calls and the low watermark of a batch are dated
 */
public record CacheLoss(String generation, long foundAtEpochMillis) {
  public CacheLoss {
    Names.require("generation", generation);
    Numbers.require("found_at_ms", foundAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }
}
