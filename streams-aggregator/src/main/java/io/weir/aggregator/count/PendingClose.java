// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.UsageWindow;
import org.jspecify.annotations.Nullable;

/**
 * A boundary the watermark has passed: every window that ends there or earlier, and was not closed
 * by the boundary before, is closed by definition; its rows may still wait to be written.
 *
 * @param boundaryEpochMillis exclusive end of the last window closed
 * @param atEpochMillis broker's time of the record that closed it
 * @param doubt event time before the boundary for which calls may be missing; null when all nodes
 *     were waited for
 */
record PendingClose(long boundaryEpochMillis, long atEpochMillis, @Nullable Interval doubt) {

  boolean isComplete(UsageWindow window) {
    return doubt == null || !doubt.overlaps(window.startEpochMillis(), window.endEpochMillis());
  }
}
