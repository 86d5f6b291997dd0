// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import io.weir.limits.Numbers;

/**
 * Records that a node found that the cache has lost its state, or may have gone back in time.
 * Written to every partition of the calls topic, so that everything recorded before it is known to
 * precede it. Immutable.
 *
 * @param generation the generation of the cache to restore; its restoration is announced under this
 *     name
 * @param foundAtEpochMillis when the node found it, by the node's estimate of the cache's clock,
 *     which also dates calls and the low watermark of a batch
 */
public record CacheLoss(String generation, long foundAtEpochMillis) {
  public CacheLoss {
    Names.require("generation", generation);
    Numbers.require("found_at_ms", foundAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
  }
}
