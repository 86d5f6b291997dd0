// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.PartitionProgress;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Checks which endpoints have rows of their own where a window has a row of others: as many as the
 * aggregator says, and the first ones in the order of the log. Receives the accounts of each
 * window, client and meter together, those of others first. Not thread-safe.
 */
final class EndpointOrder {
  private final IntFunction<@Nullable PartitionProgress> progress;
  private final Differences differences;

  /** The others of the accounts that are being received; null if they have no row. */
  private @Nullable Slot others;

  private long othersBegan;
  private long ownRows;

  /**
   * Creates a check that has received nothing.
   *
   * @param progress gives the progress of a partition, or null if it is not known
   */
  EndpointOrder(IntFunction<@Nullable PartitionProgress> progress, Differences differences) {
    this.progress = progress;
    this.differences = differences;
  }

  /** Receives the account of a window that is closed and of which all calls are held. */
  void add(Slot slot, Account account) {
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
        differences.add(
            slot + ": has a row of its own, but was counted first when others had a row already");
      }
    }
  }

  /** Finishes the accounts of the last window, client and meter. */
  void finish() {
    Slot last = others;
    others = null;
    PartitionProgress said = last == null ? null : progress.apply(last.partition());
    // there are more in windows that were counted before others had rows
    if (last != null && said != null && ownRows < said.maxEndpoints()) {
      differences.add(
          last
              + ": ledger has a row of others beside "
              + ownRows
              + " endpoints with rows of their own; WEIR_MAX_ENDPOINTS is "
              + said.maxEndpoints());
    }
  }
}
