// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the ledger rows that this process handed to Kafka since it started, including those of
 * transactions that were aborted later. Thread-safe.
 */
public final class WrittenRows {
  private final LongAdder finals = new LongAdder();
  private final LongAdder adjustments = new LongAdder();
  private final LongAdder closes = new LongAdder();

  void count(LedgerRow row) {
    if (!(row instanceof UsageRow usage)) {
      closes.increment();
    } else if (usage.type() == UsageRow.Type.FINAL) {
      finals.increment();
    } else {
      adjustments.increment();
    }
  }

  /** Returns the number of FINAL rows. */
  public long finals() {
    return finals.sum();
  }

  /** Returns the number of ADJUSTMENT rows. */
  public long adjustments() {
    return adjustments.sum();
  }

  /** Returns the number of CLOSE rows. */
  public long closes() {
    return closes.sum();
  }
}
