// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.PartitionProgress;
import org.jspecify.annotations.Nullable;

/**
 * Checks which endpoints have their own rows in a window that has a row of others. The number of
 * these endpoints must be the aggregator's maximum. They must be the first endpoints of the window
 * in the order of the log. Receives the accounts of each window, client and meter together, the
 * account of others first. Not thread-safe.
 */
final class EndpointOrder {
  private final VerifyData data;

  /** The account of others of the current window, client and meter; null if it has no row. */
  private @Nullable Slot others;

  private long othersBegan;
  private long ownRows;

  EndpointOrder(VerifyData data) {
    this.data = data;
  }

  /** Receives the account of a window that is closed and has all its calls. */
  void add(WindowAccount account) {
    Slot slot = account.slot;
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
        data.differences.add(
            slot + ": has its own row, but was first counted after others had a row");
      }
    }
  }

  /** Checks the number of endpoints of the last window, client and meter. */
  void finish() {
    Slot last = others;
    others = null;
    PartitionProgress said = last == null ? null : data.state.progress(last.partition());
    // windows that were counted before the row of others existed may have more
    if (last != null && said != null && ownRows < said.maxEndpoints()) {
      data.differences.add(
          ("%s: ledger has a row of others and %d endpoints with their own rows;"
                  + " WEIR_MAX_ENDPOINTS is %d")
              .formatted(last, ownRows, said.maxEndpoints()));
    }
  }
}
