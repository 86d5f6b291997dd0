// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.LedgerRowCodec;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;

/** What no ledger may hold is found. */
final class LedgerSumsTest {
  private static final long WINDOW_MILLIS = 900_000;
  private static final UsageKey KEY = new UsageKey("acme", "calls", "-");
  private static final UsageWindow WINDOW = new UsageWindow(0, WINDOW_MILLIS);

  private final LedgerSums sums = new LedgerSums(WINDOW_MILLIS);
  private long offset;

  @Test
  void add_aGoodLedger_hasNoFault_andAddsUp() {
    add(row(UsageRow.Type.FINAL, 1, 5, 5));
    add(new CloseRow(0, WINDOW_MILLIS, 1, 5, true, 0));
    add(row(UsageRow.Type.ADJUSTMENT, 2, -2, 3));

    assertEquals(0, sums.faults().size(), () -> sums.faults().toString());
    assertEquals(
        3, sums.tallies().getOrDefault(new Slot("acme", "calls", "-", 0, 0), new Tally()).quantity);
    assertEquals(WINDOW_MILLIS, sums.closedThroughEpochMillis(0));
  }

  @Test
  void add_aLedgerTwice_asAfterAReset_hasNoFault_andIsCountedOnce() {
    for (int emittedAt = 1; emittedAt <= 2; emittedAt++) {
      add(row(UsageRow.Type.FINAL, 1, 5, 5).emittedAt(emittedAt));
      add(new CloseRow(0, WINDOW_MILLIS, 1, 5, true, emittedAt));
      add(row(UsageRow.Type.ADJUSTMENT, 2, -2, 3).emittedAt(emittedAt));
    }
    add(row(UsageRow.Type.ADJUSTMENT, 3, 4, 7));
    add(new CloseRow(0, 2 * WINDOW_MILLIS, 2, 2, true, 3));

    assertEquals(0, sums.faults().size(), () -> sums.faults().toString());
    assertEquals(3, sums.repeatedRows());
    assertEquals(
        7, sums.tallies().getOrDefault(new Slot("acme", "calls", "-", 0, 0), new Tally()).quantity);
  }

  @Test
  void add_aRowAgainThatSaysOther_isAFault() {
    add(row(UsageRow.Type.FINAL, 1, 5, 5));
    add(row(UsageRow.Type.FINAL, 1, 6, 6));

    assertFault("ledger 0:1 says of record " + UsageRow.recordId(KEY, WINDOW, 1) + " other than");
  }

  @Test
  void add_aCloseAgainThatSaysOther_isAFault() {
    add(new CloseRow(0, WINDOW_MILLIS, 0, 0, true, 0));
    add(new CloseRow(0, WINDOW_MILLIS, 0, 0, false, 0));

    assertFault("other than before");
  }

  @Test
  void add_aTotalThatDoesNotAddUp_isAFault() {
    add(row(UsageRow.Type.FINAL, 1, 5, 6));

    assertFault("says quantity_total 6, its rows add up to 5");
  }

  @Test
  void add_aCloseWithOtherControlTotals_isAFault() {
    add(row(UsageRow.Type.FINAL, 1, 5, 5));
    add(new CloseRow(0, WINDOW_MILLIS, 2, 5, true, 0));

    assertFault("closes 2 rows");
  }

  @Test
  void add_aFinalBelowTheCloseThatCoversIt_isAFault() {
    add(new CloseRow(0, WINDOW_MILLIS, 0, 0, true, 0));
    add(row(UsageRow.Type.FINAL, 1, 5, 5));

    assertFault("is a FINAL below the CLOSE");
  }

  @Test
  void add_whatIsNoRow_isAFault() {
    sums.add(record("{}".getBytes(StandardCharsets.UTF_8)));

    assertFault("is no ledger row");
  }

  @Test
  void add_aWindowOfAnotherSize_isAFaultThatNamesTheVariable() {
    LedgerSums other = new LedgerSums(5_000);

    other.add(record(LedgerRowCodec.encode(row(UsageRow.Type.FINAL, 1, 5, 5))));

    assertTrue(other.faults().get(0).contains("WEIR_WINDOW"), other.faults().toString());
  }

  private static UsageRow row(UsageRow.Type type, long revision, long quantity, long total) {
    boolean isFinal = type == UsageRow.Type.FINAL;
    return new UsageRow(
        KEY,
        WINDOW,
        type,
        revision,
        revision == 1 ? null : UsageRow.recordId(KEY, WINDOW, revision - 1),
        isFinal ? null : UsageRow.Reason.LATE,
        new UsageCount(quantity, 1, 0, 0, 0, isFinal ? 0 : 1, 1, 0, 0, 0, 0),
        total,
        0,
        WINDOW_MILLIS,
        true,
        0);
  }

  private void add(LedgerRow row) {
    sums.add(record(LedgerRowCodec.encode(row)));
  }

  private ConsumerRecord<String, byte[]> record(byte[] value) {
    return new ConsumerRecord<>("weir.usage.ledger.v1", 0, offset++, "acme", value);
  }

  private void assertFault(String expected) {
    assertTrue(
        sums.faults().stream().anyMatch(fault -> fault.contains(expected)),
        () -> sums.faults().toString());
  }
}
