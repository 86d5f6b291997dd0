// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;

/**
 * The counters of ledger rows that this process has sent to Kafka. The counters include rows of
 * transactions that were later aborted. Thread-safe.
 */
public final class WrittenRows {
  private final Counter finals;
  private final Counter adjustments;
  private final Counter closes;

  /** Creates and registers the counters. */
  public WrittenRows(MeterRegistry registry) {
    finals = rows(registry, "final");
    adjustments = rows(registry, "adjustment");
    closes = rows(registry, "close");
  }

  private static Counter rows(MeterRegistry registry, String type) {
    return Counter.builder("weir.ledger.rows")
        .description(
            "rows of the ledger sent to Kafka, including rows of transactions that were later aborted")
        .tag("type", type)
        .register(registry);
  }

  void count(LedgerRow row) {
    if (!(row instanceof UsageRow usage)) {
      closes.increment();
    } else if (usage.type() == UsageRow.Type.FINAL) {
      finals.increment();
    } else {
      adjustments.increment();
    }
  }
}
