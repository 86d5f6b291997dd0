// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.watermark.Interval;
import io.weir.topics.model.UsageWindow;
import org.jspecify.annotations.Nullable;

/**
 * A boundary that the watermark has passed and whose CLOSE row is not written yet. Every window
 * that ends at or before the boundary is closed, although its rows may not be written yet.
 *
 * @param boundaryEpochMillis end of the last closed window, exclusive
 * @param atEpochMillis the broker's time of the record that closed the window
 * @param possibleGap interval of event time before the boundary for which calls may be missing;
 *     null if no call can be missing
 */
record PendingClose(long boundaryEpochMillis, long atEpochMillis, @Nullable Interval possibleGap) {

  /** Returns whether all calls of a window are counted. */
  boolean isComplete(UsageWindow window) {
    return possibleGap == null
        || !possibleGap.overlaps(window.startEpochMillis(), window.endEpochMillis());
  }
}
