// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.Billed;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Sums the rows of the ledger and checks their sequence. Reports repeated and missing rows, wrong
 * totals, and a FINAL after the CLOSE of its window. Not thread-safe.
 */
final class LedgerRows {
  private static final long DAY_MILLIS = 86_400_000;

  private final long nowEpochMillis = System.currentTimeMillis();
  private final VerifyData data;
  private final Range range;
  private final Map<Integer, Part> parts = new HashMap<>();
  private long repeatedRows;

  private static final class Part {
    long closedThroughEpochMillis;
    long rowsSinceClose;
    long quantitySinceClose;

    /** Rows whose closed_through_ms has no CLOSE yet, by closed_through_ms. */
    final TreeMap<Long, Pending> pending = new TreeMap<>();

    /** The greatest closed_through_ms of all adjustments. */
    long adjustedThroughEpochMillis;
  }

  /** Rows with the same closed_through_ms that wait for their CLOSE. */
  private static final class Pending {
    String where = "";
    boolean isInRange;

    /** Earliest end of a window with a FINAL row. */
    long firstEndEpochMillis = Long.MAX_VALUE;

    /** Position of a FINAL row that is not complete; null without one. */
    @Nullable String incomplete;
  }

  /** The first row with a record id in a partition. */
  private record First(long checksum, long offset) {}

  private final class Place {
    private final ConsumerRecord<@Nullable String, byte @Nullable []> record;
    private final String where;
    private final boolean isInRange;

    Place(ConsumerRecord<@Nullable String, byte @Nullable []> record, boolean isInRange) {
      this.record = record;
      this.where = where(record);
      this.isInRange = isInRange;
    }

    /** Reports a fault of the row. The text of a fault is the end of a sentence. */
    void report(String fault) {
      if (isInRange) {
        data.differences.add(where + " " + fault);
      }
    }
  }

  private static String where(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return "ledger " + record.partition() + ":" + record.offset();
  }

  /** Creates an empty instance. Only faults in rows of the range are reported. */
  LedgerRows(VerifyData data) {
    this.data = data;
    this.range = data.range;
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] bytes = record.value() == null ? new byte[0] : record.value();
    try {
      LedgerRow row = LedgerRowCodec.decode(bytes);
      boolean isInRange =
          row instanceof UsageRow usage
              ? range.holds(usage.key().client(), usage.window().startEpochMillis())
              : range.holdsBoundary(row.closedThroughEpochMillis());
      Place place = new Place(record, isInRange);
      RowForm.faults(bytes, row).forEach(place::report);
      RowForm.memberFaults(bytes, row).forEach(place::report);
      requirePlace(place, row);
      if (row instanceof UsageRow usage) {
        add(place, usage);
      } else if (row instanceof CloseRow close) {
        close(place, close);
      }
    } catch (MalformedRecordException notARow) {
      data.differences.add(where(record) + " is not a ledger row: " + notARow.getMessage());
    }
  }

  /** Checks the key, the partition and the times of a row. */
  private void requirePlace(Place place, LedgerRow row) {
    ConsumerRecord<@Nullable String, byte @Nullable []> record = place.record;
    String key = row instanceof UsageRow usage ? usage.key().client() : null;
    long closedThrough = row.closedThroughEpochMillis();
    long emittedAt = row.emittedAtEpochMillis();
    if (!Objects.equals(key, record.key())) {
      place.report("has the record key " + record.key() + " instead of " + key);
    }
    if (row.inputPartition() != record.partition()) {
      place.report("has input_partition " + row.inputPartition());
    }
    if (closedThrough > record.timestamp() || closedThrough % range.windowMillis() != 0) {
      place.report(
          "has closed_through_ms %d, which is %s"
              .formatted(
                  closedThrough,
                  closedThrough > record.timestamp()
                      ? "after the record's time " + record.timestamp()
                      : "not the end of a window"));
    }
    if (emittedAt < closedThrough - DAY_MILLIS || emittedAt > nowEpochMillis + DAY_MILLIS) {
      place.report(
          ("has emitted_at_ms %d, more than a day before closed_through_ms or more than a day"
                  + " after now")
              .formatted(emittedAt));
    }
  }

  private void add(Place place, UsageRow row) {
    int partition = place.record.partition();
    if (row.window().sizeMillis() != range.windowMillis()) {
      place.report(
          "has a window of %d ms instead of %d (WEIR_WINDOW)"
              .formatted(row.window().sizeMillis(), range.windowMillis()));
      return;
    }
    Slot slot = Slot.of(row.key(), row.window().startEpochMillis(), partition);
    if (isRepeated(place, row)) {
      return;
    }
    Part part = part(partition);
    requireCounts(place, row);
    noteClosing(place, part, row);
    if (row.type() == UsageRow.Type.FINAL
        && row.window().endEpochMillis() <= part.closedThroughEpochMillis) {
      place.report("is a FINAL after the CLOSE of its window");
    }
    WindowAccount account = data.accounts.of(slot);
    String previous =
        row.revision() == 1 ? null : UsageRow.recordId(row.key(), row.window(), row.revision() - 1);
    if (row.revision() != account.billedRevision + 1
        || !Objects.equals(previous, row.previousRecordId())) {
      place.report(
          "is revision %d of %s, but the last revision is %d"
              .formatted(row.revision(), slot, account.billedRevision));
    }
    account.billedRevision = Math.max(account.billedRevision, row.revision());
    String period = Billed.text(row.ownPeriod());
    if (account.billedPeriod == null) {
      account.billedPeriod = period;
    } else if (!account.billedPeriod.equals(period)) {
      place.report(
          "has the billing period %s, but the rows before it have %s"
              .formatted(Billed.describe(period), Billed.describe(account.billedPeriod)));
    }
    account.billed.add(row.count());
    account.billedComplete = row.complete();
    UsageRow.Reason reason = row.reason();
    if (reason == null) {
      account.billedFinal.add(row.count());
      account.closedAtEpochMillis = place.record.timestamp();
    } else {
      data.adjustments.change(
          new Adjustments.Id(slot, row.count().lastOffset(), reason),
          both -> {
            both.billed.add(row.count());
            both.billedComplete = row.complete();
            both.where = place.where;
          });
    }
    if (account.billed.quantity != row.quantityTotal()) {
      place.report(
          "has quantity_total %d, but its rows add up to %d"
              .formatted(row.quantityTotal(), account.billed.quantity));
    }
    part.rowsSinceClose++;
    part.quantitySinceClose += row.count().quantity();
  }

  /** Checks the counts that depend on the type of row. */
  private static void requireCounts(Place place, UsageRow row) {
    UsageCount count = row.count();
    boolean isFinal = row.type() == UsageRow.Type.FINAL;
    if (isFinal && row.revision() != 1) {
      place.report("is a FINAL of revision " + row.revision());
    }
    long late = isFinal ? 0 : count.eventCount();
    if (count.lateCount() != late) {
      place.report("has late_count " + count.lateCount() + " instead of " + late);
    }
    if (!isFinal && count.duplicatesDropped() != 0) {
      place.report("has duplicates_dropped " + count.duplicatesDropped() + " in an ADJUSTMENT");
    }
    if (!isFinal && count.firstOffset() != count.lastOffset()) {
      place.report("is an ADJUSTMENT of more than one record of the calls");
    }
    if (row.window().endEpochMillis() > row.closedThroughEpochMillis()) {
      place.report("has a closed_through_ms before the end of its window");
    }
  }

  /** Records which CLOSE must close the window of a row. */
  private static void noteClosing(Place place, Part part, UsageRow row) {
    long through = row.closedThroughEpochMillis();
    boolean isFinal = row.type() == UsageRow.Type.FINAL;
    if (!isFinal) {
      if (through < Math.max(part.adjustedThroughEpochMillis, part.closedThroughEpochMillis)) {
        place.report("has an earlier closed_through_ms than the rows before it");
      }
      part.adjustedThroughEpochMillis = Math.max(part.adjustedThroughEpochMillis, through);
    }
    if (through > part.closedThroughEpochMillis) {
      Pending pending = part.pending.computeIfAbsent(through, first -> new Pending());
      pending.where = place.where;
      pending.isInRange |= place.isInRange;
      if (isFinal) {
        pending.firstEndEpochMillis =
            Math.min(pending.firstEndEpochMillis, row.window().endEpochMillis());
        pending.incomplete = row.complete() ? pending.incomplete : place.where;
      }
    }
  }

  /** Compares a CLOSE with the rows whose windows it closes. */
  private void confirm(Place place, Part part, CloseRow close) {
    long boundary = close.closedThroughEpochMillis();
    Pending own = part.pending.remove(boundary);
    if (own != null && close.complete() && own.incomplete != null) {
      place.report("is complete, but " + own.incomplete + " before it is not");
    }
    if (own != null && own.firstEndEpochMillis <= part.closedThroughEpochMillis) {
      place.report("closes a window that an earlier CLOSE closed");
    }
    Map<Long, Pending> unclosed = part.pending.headMap(boundary);
    for (Pending other : unclosed.values()) {
      if (place.isInRange || other.isInRange) {
        data.differences.add(other.where + " has a closed_through_ms without a CLOSE row");
      }
    }
    unclosed.clear();
    for (Pending later : part.pending.values()) {
      if (later.firstEndEpochMillis <= boundary) {
        if (place.isInRange || later.isInRange) {
          data.differences.add(
              later.where + " has a later closed_through_ms than the CLOSE of its window");
        }
        later.firstEndEpochMillis = Long.MAX_VALUE;
      }
    }
  }

  private void close(Place place, CloseRow close) {
    long boundary = close.closedThroughEpochMillis();
    int partition = place.record.partition();
    if (isRepeated(place, close)) {
      return;
    }
    Part part = part(partition);
    if (part.quantitySinceClose != close.quantityTotal() || part.rowsSinceClose != close.rows()) {
      place.report(
          "closes %d rows of quantity %d, but %d rows of quantity %d precede it"
              .formatted(
                  close.rows(),
                  close.quantityTotal(),
                  part.rowsSinceClose,
                  part.quantitySinceClose));
    }
    confirm(place, part, close);
    if (place.isInRange) {
      data.closes.add(place.record, part.closedThroughEpochMillis, boundary, close.complete());
    }
    if (boundary <= part.closedThroughEpochMillis) {
      place.report("closes windows that were closed before");
    }
    part.closedThroughEpochMillis = Math.max(part.closedThroughEpochMillis, boundary);
    part.rowsSinceClose = 0;
    part.quantitySinceClose = 0;
  }

  /**
   * Returns whether a row with the same record id was read before in the partition. A repeated row
   * is not added. The repetition is reported unless identical repetitions are permitted.
   */
  private boolean isRepeated(Place place, LedgerRow row) {
    byte[] id = row.recordId().getBytes(StandardCharsets.US_ASCII);
    byte[] key =
        Scratch.key(Scratch.ROW, Integer.BYTES + id.length)
            .putInt(place.record.partition())
            .put(id)
            .array();
    First first = data.scratch.getObject(key, First.class);
    CRC32C content = new CRC32C();
    content.update(LedgerRowCodec.encode(row.emittedAt(0)));
    if (first == null) {
      data.scratch.putObject(key, new First(content.getValue(), place.record.offset()));
      return false;
    }
    boolean isSame = first.checksum == content.getValue();
    repeatedRows += place.isInRange ? 1 : 0;
    if (!isSame || !data.mayRepeat) {
      place.report(
          "is record %s again, which is at offset %d%s"
              .formatted(row.recordId(), first.offset, isSame ? "" : ", with different content"));
    }
    return true;
  }

  private Part part(int partition) {
    return parts.computeIfAbsent(partition, first -> new Part());
  }

  /** Returns the end of the last closed window of a partition; 0 if none is closed. */
  long closedThroughEpochMillis(int partition) {
    return part(partition).closedThroughEpochMillis;
  }

  long repeatedRows() {
    return repeatedRows;
  }
}
