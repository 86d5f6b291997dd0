// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Rows of one partition, as an aggregator writes them. */
final class LedgerOfCalls {
  static final Duration WINDOW = Duration.ofMinutes(15);

  private LedgerOfCalls() {}

  static UsageRow row(String client, String endpoint, Instant start, long quantity) {
    return row(client, endpoint, start, quantity, 1, start.plus(WINDOW));
  }

  /** Returns a FINAL row for revision 1, else an adjustment. */
  static UsageRow row(
      String client,
      String endpoint,
      Instant start,
      long quantity,
      long revision,
      Instant emittedAt) {
    UsageKey key = new UsageKey(client, "calls", endpoint);
    UsageWindow window = new UsageWindow(start.toEpochMilli(), start.plus(WINDOW).toEpochMilli());
    boolean isFinal = revision == 1;
    UsageRow.@Nullable Reason reason = isFinal ? null : UsageRow.Reason.LATE;
    return new UsageRow(
        key,
        window,
        isFinal ? UsageRow.Type.FINAL : UsageRow.Type.ADJUSTMENT,
        revision,
        isFinal ? null : UsageRow.recordId(key, window, revision - 1),
        reason,
        new UsageCount(quantity, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0),
        quantity,
        0,
        window.endEpochMillis(),
        true,
        emittedAt.toEpochMilli());
  }

  static LedgerRow close(Instant through) {
    return new CloseRow(0, through.toEpochMilli(), 0, 0, true, through.toEpochMilli());
  }
}
