// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.ByteBuffer;
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

  private final long windowMillis;
  private final long nowEpochMillis = System.currentTimeMillis();
  private final Range range;
  private final boolean mayRepeat;
  private final Scratch scratch;
  private final Accounts accounts;
  private final Adjustments adjustments;
  private final Closes closes;
  private final Differences differences;
  private final Map<Integer, Part> parts = new HashMap<>();
  private long repeatedRows;

  /** The state of one partition. */
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

  /**
   * Creates an empty instance.
   *
   * @param range only faults in rows of these windows are reported
   * @param mayRepeat whether a row may occur again with the same content, as after a reset of the
   *     aggregator
   */
  LedgerRows(
      long windowMillis,
      Range range,
      boolean mayRepeat,
      Scratch scratch,
      Accounts accounts,
      Adjustments adjustments,
      Closes closes,
      Differences differences) {
    this.windowMillis = windowMillis;
    this.range = range;
    this.mayRepeat = mayRepeat;
    this.scratch = scratch;
    this.accounts = accounts;
    this.adjustments = adjustments;
    this.closes = closes;
    this.differences = differences;
  }

  /** Adds the next record of a partition. */
  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    String where = "ledger " + record.partition() + ":" + record.offset();
    try {
      byte[] bytes = value == null ? new byte[0] : value;
      LedgerRow row = LedgerRowCodec.decode(bytes);
      boolean isInRange =
          row instanceof UsageRow usage
              ? range.holds(usage.key().client(), usage.window().startEpochMillis())
              : range.holdsBoundary(((CloseRow) row).closedThroughEpochMillis());
      RowForm.faults(bytes, row).forEach(fault -> report(isInRange, where + " " + fault));
      RowMembers.faults(bytes, row).forEach(fault -> report(isInRange, where + " " + fault));
      requirePlace(where, isInRange, record, row);
      if (row instanceof UsageRow usage) {
        add(where, record, usage);
      } else if (row instanceof CloseRow close) {
        close(where, record, close);
      }
    } catch (MalformedRecordException notARow) {
      differences.add(where + " is not a ledger row: " + notARow.getMessage());
    }
  }

  /** Checks the key, the partition and the times of a row. */
  private void requirePlace(
      String where,
      boolean isInRange,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      LedgerRow row) {
    String client = row instanceof UsageRow usage ? usage.key().client() : null;
    if (!Objects.equals(client, record.key())) {
      report(isInRange, where + " has the record key " + record.key() + " instead of " + client);
    }
    if (row.inputPartition() != record.partition()) {
      report(isInRange, where + " has input_partition " + row.inputPartition());
    }
    long closedThrough =
        row instanceof UsageRow usage
            ? usage.closedThroughEpochMillis()
            : ((CloseRow) row).closedThroughEpochMillis();
    if (closedThrough > record.timestamp() || closedThrough % windowMillis != 0) {
      report(
          isInRange,
          where
              + " has closed_through_ms "
              + closedThrough
              + ", which is "
              + (closedThrough > record.timestamp()
                  ? "after the record's time " + record.timestamp()
                  : "not the end of a window"));
    }
    long emittedAt =
        row instanceof UsageRow usage
            ? usage.emittedAtEpochMillis()
            : ((CloseRow) row).emittedAtEpochMillis();
    if (emittedAt < closedThrough - DAY_MILLIS || emittedAt > nowEpochMillis + DAY_MILLIS) {
      report(
          isInRange,
          where
              + " has emitted_at_ms "
              + emittedAt
              + ", more than a day before closed_through_ms or more than a day after now");
    }
  }

  private void add(
      String where, ConsumerRecord<@Nullable String, byte @Nullable []> record, UsageRow row) {
    long start = row.window().startEpochMillis();
    boolean isInRange = range.holds(row.key().client(), start);
    if (row.window().sizeMillis() != windowMillis) {
      report(
          isInRange,
          where
              + " has a window of "
              + row.window().sizeMillis()
              + " ms instead of "
              + windowMillis
              + " (WEIR_WINDOW)");
      return;
    }
    Slot slot = Slot.of(row.key(), start, record.partition());
    if (isRepeated(where, isInRange, key(slot, row.revision()), record, row)) {
      return;
    }
    Part part = part(record.partition());
    requireCounts(where, isInRange, row);
    noteClosing(where, isInRange, part, row);
    if (row.type() == UsageRow.Type.FINAL
        && row.window().endEpochMillis() <= part.closedThroughEpochMillis) {
      report(isInRange, where + " is a FINAL after the CLOSE of its window");
    }
    WindowAccount account = accounts.of(slot);
    String previous =
        row.revision() == 1 ? null : UsageRow.recordId(row.key(), row.window(), row.revision() - 1);
    if (row.revision() != account.billedRevision + 1
        || !Objects.equals(previous, row.previousRecordId())) {
      report(
          isInRange,
          where
              + " is revision "
              + row.revision()
              + " of "
              + slot
              + ", but the last revision is "
              + account.billedRevision);
    }
    account.billedRevision = Math.max(account.billedRevision, row.revision());
    String period = Billed.text(row.ownPeriod());
    if (account.billedPeriod == null) {
      account.billedPeriod = period;
    } else if (!account.billedPeriod.equals(period)) {
      report(
          isInRange,
          where
              + " has the billing period "
              + Billed.describe(period)
              + ", but the rows before it have "
              + Billed.describe(account.billedPeriod));
    }
    account.billed.add(row.count());
    account.billedComplete = row.complete();
    UsageRow.Reason reason = row.reason();
    if (reason == null) {
      account.billedFinal.add(row.count());
      account.closedAtEpochMillis = record.timestamp();
    } else {
      adjustments.change(
          new Adjustments.Id(slot, row.count().lastOffset(), reason),
          both -> {
            both.billed.add(row.count());
            both.billedComplete = row.complete();
            both.where = where;
          });
    }
    if (account.billed.quantity != row.quantityTotal()) {
      report(
          isInRange,
          where
              + " has quantity_total "
              + row.quantityTotal()
              + ", but its rows add up to "
              + account.billed.quantity);
    }
    part.rowsSinceClose++;
    part.quantitySinceClose += row.count().quantity();
  }

  /** Checks the counts that depend on the type of row. */
  private void requireCounts(String where, boolean isInRange, UsageRow row) {
    UsageCount count = row.count();
    boolean isFinal = row.type() == UsageRow.Type.FINAL;
    if (isFinal && row.revision() != 1) {
      report(isInRange, where + " is a FINAL of revision " + row.revision());
    }
    long late = isFinal ? 0 : count.eventCount();
    if (count.lateCount() != late) {
      report(isInRange, where + " has late_count " + count.lateCount() + " instead of " + late);
    }
    if (!isFinal && count.duplicatesDropped() != 0) {
      report(
          isInRange,
          where + " has duplicates_dropped " + count.duplicatesDropped() + " in an ADJUSTMENT");
    }
    if (!isFinal && count.firstOffset() != count.lastOffset()) {
      report(isInRange, where + " is an ADJUSTMENT of more than one record of the calls");
    }
    if (row.window().endEpochMillis() > row.closedThroughEpochMillis()) {
      report(isInRange, where + " has a closed_through_ms before the end of its window");
    }
  }

  /** Records which CLOSE must close the window of a row. */
  private void noteClosing(String where, boolean isInRange, Part part, UsageRow row) {
    long through = row.closedThroughEpochMillis();
    boolean isFinal = row.type() == UsageRow.Type.FINAL;
    if (!isFinal) {
      if (through < Math.max(part.adjustedThroughEpochMillis, part.closedThroughEpochMillis)) {
        report(isInRange, where + " has a closed_through_ms before that of earlier rows");
      }
      part.adjustedThroughEpochMillis = Math.max(part.adjustedThroughEpochMillis, through);
    }
    if (through > part.closedThroughEpochMillis) {
      Pending pending = part.pending.computeIfAbsent(through, first -> new Pending());
      pending.where = where;
      pending.isInRange |= isInRange;
      if (isFinal) {
        pending.firstEndEpochMillis =
            Math.min(pending.firstEndEpochMillis, row.window().endEpochMillis());
        pending.incomplete = row.complete() ? pending.incomplete : where;
      }
    }
  }

  /** Compares a CLOSE with the rows whose windows it closes. */
  private void confirm(String where, boolean isInRange, Part part, CloseRow close) {
    long boundary = close.closedThroughEpochMillis();
    Pending own = part.pending.remove(boundary);
    if (own != null && close.complete() && own.incomplete != null) {
      report(isInRange, where + " is complete, but " + own.incomplete + " before it is not");
    }
    if (own != null && own.firstEndEpochMillis <= part.closedThroughEpochMillis) {
      report(isInRange, where + " closes a window that an earlier CLOSE closed");
    }
    part.pending
        .headMap(boundary)
        .values()
        .forEach(
            other ->
                report(
                    isInRange || other.isInRange,
                    other.where + " has a closed_through_ms without a CLOSE row"));
    part.pending.headMap(boundary).clear();
    part.pending
        .values()
        .forEach(
            later -> {
              if (later.firstEndEpochMillis <= boundary) {
                report(
                    isInRange || later.isInRange,
                    later.where + " has a closed_through_ms after the CLOSE of its window");
                later.firstEndEpochMillis = Long.MAX_VALUE;
              }
            });
  }

  private void close(
      String where, ConsumerRecord<@Nullable String, byte @Nullable []> record, CloseRow close) {
    long boundary = close.closedThroughEpochMillis();
    boolean isInRange = range.holdsBoundary(boundary);
    if (isRepeated(where, isInRange, closeKey(record.partition(), boundary), record, close)) {
      return;
    }
    Part part = part(record.partition());
    if (part.quantitySinceClose != close.quantityTotal() || part.rowsSinceClose != close.rows()) {
      report(
          isInRange,
          where
              + " closes "
              + close.rows()
              + " rows of quantity "
              + close.quantityTotal()
              + ", but the rows before it are "
              + part.rowsSinceClose
              + " of quantity "
              + part.quantitySinceClose);
    }
    confirm(where, isInRange, part, close);
    if (isInRange) {
      closes.add(
          record.partition(),
          record.timestamp(),
          part.closedThroughEpochMillis,
          boundary,
          record.offset(),
          close.complete());
    }
    if (boundary <= part.closedThroughEpochMillis) {
      report(isInRange, where + " closes windows that were closed before");
    }
    part.closedThroughEpochMillis = Math.max(part.closedThroughEpochMillis, boundary);
    part.rowsSinceClose = 0;
    part.quantitySinceClose = 0;
  }

  /**
   * Returns whether a row with the same record id was read before. Such a row is not added. It is
   * reported unless identical repetitions are permitted.
   */
  private boolean isRepeated(
      String where,
      boolean isInRange,
      byte[] key,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      LedgerRow row) {
    byte[] known = scratch.get(key);
    long checksum = checksum(row);
    if (known == null) {
      scratch.put(
          key,
          ByteBuffer.allocate(2 * Long.BYTES).putLong(checksum).putLong(record.offset()).array());
      return false;
    }
    ByteBuffer first = ByteBuffer.wrap(known);
    boolean isSame = first.getLong() == checksum;
    repeatedRows += isInRange ? 1 : 0;
    if (!isSame || !mayRepeat) {
      report(
          isInRange,
          where
              + " is record "
              + row.recordId()
              + " again, which is at offset "
              + first.getLong()
              + (isSame ? "" : ", with different content"));
    }
    return true;
  }

  private void report(boolean isInRange, String sentence) {
    if (isInRange) {
      differences.add(sentence);
    }
  }

  private Part part(int partition) {
    return parts.computeIfAbsent(partition, first -> new Part());
  }

  /** Returns a checksum of a row without the time at which it was written. */
  private static long checksum(LedgerRow row) {
    CRC32C checksum = new CRC32C();
    checksum.update(LedgerRowCodec.encode(row.emittedAt(0)));
    return checksum.getValue();
  }

  private static byte[] key(Slot slot, long revision) {
    byte[] bytes = slot.toBytes();
    return Scratch.key(Scratch.ROW, bytes.length + 1 + Long.BYTES)
        .put(bytes)
        .put((byte) '\n')
        .putLong(revision)
        .array();
  }

  private static byte[] closeKey(int partition, long boundary) {
    byte[] name = "CLOSE".getBytes(StandardCharsets.US_ASCII);
    return Scratch.key(Scratch.ROW, name.length + Integer.BYTES + Long.BYTES)
        .put(name)
        .putInt(partition)
        .putLong(boundary)
        .array();
  }

  /** Returns the end of the last closed window of a partition; 0 if none is closed. */
  long closedThroughEpochMillis(int partition) {
    return part(partition).closedThroughEpochMillis;
  }

  /** Returns the number of repeated rows in the range. */
  long repeatedRows() {
    return repeatedRows;
  }
}
