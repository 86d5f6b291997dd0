// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.PartitionProgress;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Checks which endpoints have their own rows in a window that has a row of others. The number of
 * these endpoints must be the aggregator's maximum. They must be the first endpoints of the window
 * in the order of the log. Receives the accounts of each window, client and meter together, the
 * account of others first. Not thread-safe.
 */
final class EndpointOrder {
  private final IntFunction<@Nullable PartitionProgress> progress;
  private final Differences differences;

  /** The account of others of the current window, client and meter; null if it has no row. */
  private @Nullable Slot others;

  private long othersBegan;
  private long ownRows;

  /**
   * Creates a check.
   *
   * @param progress returns the progress of a partition, or null if it is unknown
   */
  EndpointOrder(IntFunction<@Nullable PartitionProgress> progress, Differences differences) {
    this.progress = progress;
    this.differences = differences;
  }

  /** Receives the account of a window that is closed and has all its calls. */
  void add(Slot slot, WindowAccount account) {
    if (others != null && !others.equals(slot.others())) {
      finish();
    }
    if (account.billedRevision == 0) {
      return;
    }
    if (slot.isOthers()) {
      others = slot;
      othersBegan = account.firstCounted;
      ownRows = 0;
    } else if (others != null) {
      ownRows++;
      if (othersBegan > 0 && account.firstCounted > othersBegan) {
        differences.add(slot + ": has its own row, but was first counted after others had a row");
      }
    }
  }

  /** Finishes the accounts of the last window, client and meter. */
  void finish() {
    Slot last = others;
    others = null;
    PartitionProgress said = last == null ? null : progress.apply(last.partition());
    // windows that were counted before the row of others existed may have more
    if (last != null && said != null && ownRows < said.maxEndpoints()) {
      differences.add(
          ("%s: ledger has a row of others and %d endpoints with their own rows;"
                  + " WEIR_MAX_ENDPOINTS is %d")
              .formatted(last, ownRows, said.maxEndpoints()));
    }
  }
}
