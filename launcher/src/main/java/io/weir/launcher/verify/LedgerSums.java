// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Adds the ledger's rows up, and finds fault with what no ledger may hold. A row that stands there
 * again and says the same, as after a reset of the aggregator, is counted once. Not safe for
 * threads.
 */
final class LedgerSums {
  private final Map<Slot, Tally> tallies = new HashMap<>();
  private final Map<Integer, Long> closedThrough = new HashMap<>();
  private final Map<Integer, Tally> sinceClose = new HashMap<>();
  private final Map<Integer, Long> rowsSinceClose = new HashMap<>();
  private final Map<String, Long> checksums = new HashMap<>();
  private final List<String> faults = new ArrayList<>();
  private final long windowMillis;
  private long repeatedRows;

  LedgerSums(long windowMillis) {
    this.windowMillis = windowMillis;
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    String where = "ledger " + record.partition() + ":" + record.offset();
    LedgerRow row;
    try {
      row = LedgerRowCodec.decode(value == null ? new byte[0] : value);
    } catch (MalformedRecordException notARow) {
      faults.add(where + " is no ledger row: " + notARow.getMessage());
      return;
    }
    long checksum = checksum(row);
    Long before = checksums.putIfAbsent(row.recordId(), checksum);
    if (before != null) {
      repeatedRows++;
      if (before != checksum) {
        faults.add(where + " says of record " + row.recordId() + " other than before");
      }
      return;
    }
    if (row instanceof UsageRow usage) {
      add(where, record.partition(), usage);
    } else if (row instanceof CloseRow close) {
      close(where, record.partition(), close);
    }
  }

  /** Of all that a row says, but for when it was made. */
  private static long checksum(LedgerRow row) {
    CRC32C checksum = new CRC32C();
    checksum.update(LedgerRowCodec.encode(row.emittedAt(0)));
    return checksum.getValue();
  }

  private void add(String where, int partition, UsageRow row) {
    if (row.window().sizeMillis() != windowMillis) {
      faults.add(
          where
              + " has a window of "
              + row.window().sizeMillis()
              + " ms, asked for "
              + windowMillis
              + " (WEIR_WINDOW)");
      return;
    }
    if (row.type() == UsageRow.Type.FINAL
        && row.window().endEpochMillis() <= closedThrough.getOrDefault(partition, 0L)) {
      faults.add(where + " is a FINAL below the CLOSE that covers it");
    }
    Slot slot =
        new Slot(
            row.key().client(),
            row.key().meter(),
            row.key().endpoint(),
            row.window().startEpochMillis(),
            partition);
    Tally tally = tallies.computeIfAbsent(slot, unseen -> new Tally());
    tally.quantity += row.count().quantity();
    tally.allowed += row.count().callsAllowed();
    tally.denied += row.count().callsDenied();
    tally.failOpen += row.count().callsFailOpen();
    tally.digest += row.count().eventsDigest();
    if (tally.quantity != row.quantityTotal()) {
      faults.add(
          where
              + " says quantity_total "
              + row.quantityTotal()
              + ", its rows add up to "
              + tally.quantity);
    }
    sinceClose.computeIfAbsent(partition, unseen -> new Tally()).quantity += row.count().quantity();
    rowsSinceClose.merge(partition, 1L, Long::sum);
  }

  private void close(String where, int partition, CloseRow close) {
    Tally since = sinceClose.remove(partition);
    long quantity = since == null ? 0 : since.quantity;
    Long count = rowsSinceClose.remove(partition);
    if (quantity != close.quantityTotal() || (count == null ? 0 : count) != close.rows()) {
      faults.add(
          where
              + " closes "
              + close.rows()
              + " rows of quantity "
              + close.quantityTotal()
              + ", above it stand "
              + (count == null ? 0 : count)
              + " of "
              + quantity);
    }
    if (close.closedThroughEpochMillis() <= closedThrough.getOrDefault(partition, 0L)) {
      faults.add(where + " closes what was closed before");
    }
    closedThrough.merge(partition, close.closedThroughEpochMillis(), Math::max);
  }

  Map<Slot, Tally> tallies() {
    return tallies;
  }

  /** End of the last closed window of a partition; 0 when none is closed. */
  long closedThroughEpochMillis(int partition) {
    return closedThrough.getOrDefault(partition, 0L);
  }

  List<String> faults() {
    return faults;
  }

  /** Rows that stood there before, under the same record id. */
  long repeatedRows() {
    return repeatedRows;
  }
}
