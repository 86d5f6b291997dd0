// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.CallEvent;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * Sums of the late calls of one batch, by row, in the order in which the rows first appeared, so
 * that a replay writes alike. Not safe for threads; reused from batch to batch.
 */
final class Fold {
  private final Map<RowKey, Tally> tallies = new LinkedHashMap<>();

  void add(long windowStartEpochMillis, CallEvent call, long offset) {
    tallies
        .computeIfAbsent(
            new RowKey(windowStartEpochMillis, call.client(), call.meter(), call.endpoint()),
            absent -> new Tally())
        .add(call, offset);
  }

  boolean isEmpty() {
    return tallies.isEmpty();
  }

  void forEach(BiConsumer<RowKey, Tally> action) {
    tallies.forEach(action);
  }

  void clear() {
    tallies.clear();
  }
}
