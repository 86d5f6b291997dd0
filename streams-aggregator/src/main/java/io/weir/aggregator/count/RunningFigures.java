// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Budget;
import io.weir.aggregator.state.ByteStore;
import io.weir.topics.model.PartitionProgress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The publisher of the figures of open windows. The publisher works in rounds. A round publishes
 * all changed rows, and then the progress that the partition had at the start of the round. So a
 * reader that has read a progress record has read all figures that the progress includes. Not
 * thread-safe.
 *
 * <p>The first round after a start publishes every open row, because it is unknown which rows the
 * previous process published.
 */
final class RunningFigures {
  private static final int CHUNK_ROWS = 256;

  private final CountSettings settings;
  private final OpenRows open;
  private final PartitionState state;
  private final CountOutput output;
  private final Supplier<PartitionProgress> progress;

  /** Key at which the first round continues; null when the first round has published every row. */
  private byte @Nullable [] republishFrom = RowKey.from(0);

  private Queue<OpenRow> round = new ArrayDeque<>();
  private @Nullable PartitionProgress roundProgress;
  private @Nullable PartitionProgress published;

  RunningFigures(
      CountSettings settings,
      OpenRows open,
      PartitionState state,
      CountOutput output,
      Supplier<PartitionProgress> progress) {
    this.settings = settings;
    this.open = open;
    this.state = state;
    this.output = output;
    this.progress = progress;
  }

  /**
   * Publishes changed rows and the progress.
   *
   * @return whether the round is complete
   */
  boolean publish(Budget budget) {
    if (!republish(budget)) {
      return false;
    }
    if (roundProgress == null) {
      PartitionProgress now = progress.get();
      if (now.equals(published)) {
        return true;
      }
      roundProgress = now;
      round = open.takeChanged();
    }
    while (!round.isEmpty()) {
      if (budget.isSpent()) {
        return false;
      }
      publish(round.remove());
    }
    output.progress(roundProgress, state.appendEpochMillis);
    published = roundProgress;
    roundProgress = null;
    return true;
  }

  private boolean republish(Budget budget) {
    while (republishFrom != null) {
      if (budget.isSpent()) {
        return false;
      }
      List<OpenRow> rows = open.scan(republishFrom, Long.MAX_VALUE, CHUNK_ROWS);
      for (OpenRow row : rows) {
        // A queued row is published later. If this method cleared its flag, the row could be
        // removed from memory while it is in the queue. The queue would then publish it as open
        // after another copy of the row was closed.
        if (!row.queued) {
          publish(row);
        }
      }
      republishFrom = rows.isEmpty() ? null : ByteStore.behind(rows.get(rows.size() - 1).keyBytes);
    }
    return true;
  }

  private void publish(OpenRow row) {
    row.queued = false;
    if (!row.closed) {
      output.state(row.running(settings.windowMillis()), state.appendEpochMillis);
    }
  }
}
