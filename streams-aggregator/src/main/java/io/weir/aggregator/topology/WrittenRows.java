// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import java.util.concurrent.atomic.LongAdder;

/**
 * Ledger rows this process handed to Kafka since it started, also those of transactions that were
 * aborted later. Safe for threads.
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

  /** FINAL rows. */
  public long finals() {
    return finals.sum();
  }

  /** ADJUSTMENT rows. */
  public long adjustments() {
    return adjustments.sum();
  }

  /** CLOSE rows. */
  public long closes() {
    return closes.sum();
  }
}
