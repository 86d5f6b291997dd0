// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.watermark.Interval;
import io.weir.topics.model.UsageWindow;
import org.jspecify.annotations.Nullable;

/**
 * A boundary that the watermark has passed: every window that ends there or earlier, and was not
 * closed by the boundary before, is closed by definition, though its rows may not be written yet.
 *
 * @param boundaryEpochMillis exclusive end of the last window closed
 * @param atEpochMillis broker's time of the record that closed it
 * @param possibleGap event time before the boundary for which calls may be missing; null when all
 *     nodes were waited for
 */
record PendingClose(long boundaryEpochMillis, long atEpochMillis, @Nullable Interval possibleGap) {

  /** Returns whether no call of a window can be missing. */
  boolean isComplete(UsageWindow window) {
    return possibleGap == null
        || !possibleGap.overlaps(window.startEpochMillis(), window.endEpochMillis());
  }
}
