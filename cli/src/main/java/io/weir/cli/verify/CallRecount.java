// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Counts all calls again with its own rules. It counts every line of every batch, each position of
 * a journal once, each id of a caller once, and the first settlement of each call in the window of
 * the call. The first line of a window sets its billing period. Not thread-safe.
 */
final class CallRecount implements AutoCloseable {
  private final long windowMillis;
  private final long latenessMillis;
  private final int partitions;
  private final Set<String> givenUp;
  private final Accounts accounts;
  private final Adjustments adjustments;
  private final Closes closes;
  private final Ids ids;
  private final SeenLines seen;
  private final Settlements settlements;
  private final QuarantineRecords quarantine;
  private final Replays replays;
  private final Differences differences;
  private final LineReader reader = new LineReader();
  private final Map<Integer, RecountedPartition> parts = new HashMap<>();

  /** The adjustments that count lines of the current record. */
  private final Set<Adjustments.Id> adjusted = new LinkedHashSet<>();

  private long linesCounted;
  private int[] checksums = new int[0];

  /**
   * Creates an empty recount.
   *
   * @param givenUp records that an operator moved to the quarantine, as {@code partition@offset}
   */
  CallRecount(
      long windowMillis,
      long latenessMillis,
      int partitions,
      Set<String> givenUp,
      Scratch scratch,
      Accounts accounts,
      Adjustments adjustments,
      Closes closes,
      QuarantineRecords quarantine,
      Replays replays,
      Differences differences)
      throws IOException {
    this.windowMillis = windowMillis;
    this.latenessMillis = latenessMillis;
    this.partitions = partitions;
    this.givenUp = Set.copyOf(givenUp);
    this.accounts = accounts;
    this.adjustments = adjustments;
    this.closes = closes;
    this.ids = new Ids(scratch, latenessMillis);
    this.seen = new SeenLines(scratch);
    this.settlements = new Settlements(scratch);
    this.quarantine = quarantine;
    this.replays = replays;
    this.differences = differences;
  }

  /** Returns the result for a partition. */
  RecountedPartition part(int partition) {
    return parts.computeIfAbsent(partition, first -> new RecountedPartition(latenessMillis));
  }

  /** Adds the next record of a partition. */
  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    RecountedPartition part = part(record.partition());
    part.beginsWith(record.offset(), record.timestamp());
    take(part, record);
    adjusted.forEach(
        id -> {
          Slot slot = id.slot();
          long end = slot.startEpochMillis() + windowMillis;
          boolean complete = !part.mayLack(slot.startEpochMillis(), end);
          adjustments.change(id, both -> both.countedComplete = complete);
        });
    adjusted.clear();
    closes.recordTaken(record.partition(), part);
  }

  private void take(
      RecountedPartition part, ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    if (givenUp.contains(record.partition() + "@" + record.offset())) {
      refuse(part, record, "given up by WEIR_QUARANTINE_RECORDS");
      return;
    }
    try {
      if (CacheLossCodec.TYPE.equals(Batch.text(record, "weir-type"))) {
        noteCacheLoss(part, record);
      } else {
        addBatch(part, record, Batch.of(record));
      }
    } catch (UnreadableException unreadable) {
      refuse(part, record, String.valueOf(unreadable.getMessage()));
    }
  }

  private static void noteCacheLoss(
      RecountedPartition part, ConsumerRecord<@Nullable String, byte @Nullable []> record)
      throws UnreadableException {
    byte[] value = record.value();
    try {
      part.broker()
          .note(
              record.timestamp(),
              CacheLossCodec.decode(value == null ? new byte[0] : value).foundAtEpochMillis());
    } catch (MalformedRecordException malformed) {
      throw new UnreadableException("a cache-loss record is malformed", malformed);
    }
  }

  private void addBatch(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch)
      throws UnreadableException {
    part.broker().note(record.timestamp(), batch.lowWatermarkEpochMillis());
    byte[] value = record.value() == null ? new byte[0] : record.value();
    int found = lines(value);
    if (found != batch.count()) {
      throw new UnreadableException("it has " + found + " lines, not " + batch.count());
    }
    Replayed replayed = Replayed.of(record);
    if (replayed != null && replayed.firstLine() > 0) {
      addReplayedLines(part, record, batch, replayed, value);
      return;
    }
    long at = part.broker().trustedEpochMillis();
    long promise = Math.min(batch.lowWatermarkEpochMillis(), at);
    JournalCoverage journal = part.journal(batch, promise, at);
    if (found > 0) {
      int lacking = addLines(part, record, batch, journal, value);
      if (replayed != null && lacking > 0) {
        takeReplayed(record, replayed, 0, seen.checksum(value, 0, value.length));
      }
    }
    if (replayed != null) {
      replays.takeMarker(replayed.partition(), replayed.offset(), 0);
    }
    journal.note(batch, promise, at);
  }

  /**
   * Adds replayed lines, which have positions outside all journals. A line that its partition had
   * refused is counted once; any other line is a duplicate.
   */
  private void addReplayedLines(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch,
      Replayed replayed,
      byte[] value) {
    int start = 0;
    for (int line = 1; line <= batch.count(); line++) {
      int end = endOfLine(value, start);
      int sourceLine = replayed.firstLine() + line - 1;
      part.received++;
      if (mayBeTaken(part, record, replayed, sourceLine)) {
        if (addLine(part, record, batch, value, line, start, end - start)) {
          takeReplayed(record, replayed, sourceLine, seen.checksum(value, start, end - start));
          seen.replay(position(record.partition(), batch, line));
        }
      } else if (!isSettlementOfLaterCall(
          part, record, replayed, sourceLine, line, value, start, end - start)) {
        part.duplicate++;
        replays.takeMarker(replayed.partition(), replayed.offset(), sourceLine);
      }
      start = end + 1;
    }
  }

  private boolean mayBeTaken(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Replayed replayed,
      int sourceLine) {
    boolean isJudgedHere =
        replayed.partition() == record.partition() && replayed.offset() >= part.firstOffset();
    return !replays.isTaken(replayed.partition(), replayed.offset(), sourceLine)
        && (!isJudgedHere
            || replays.isRefused(replayed.partition(), replayed.offset(), sourceLine));
  }

  private void takeReplayed(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Replayed replayed,
      int sourceLine,
      int checksum) {
    replays.take(
        record,
        replayed.partition(),
        replayed.offset(),
        sourceLine,
        checksum,
        quarantine.keepsRecordsOf(record));
  }

  /**
   * Handles a replayed settlement that was refused because its call was not counted yet. The
   * recount has already counted it at its first position, because only the end shows which
   * settlements have no counted call. This method moves it to its new position.
   *
   * @return whether the line is such a settlement
   */
  private boolean isSettlementOfLaterCall(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Replayed replayed,
      int sourceLine,
      int lineNumber,
      byte[] value,
      int start,
      int length) {
    try {
      CallLine line = reader.read(value, start, length);
      Replays.Place last = replays.newestPlace(replayed, sourceLine);
      if (!line.isSettlement()
          || replayed.partition() != record.partition()
          || !quarantine.take(record.partition(), last.offset(), last.line())) {
        return false;
      }
      Settlements.Settlement moved =
          settlements.settlementMoved(
              ids.callNumber(line), last.offset(), last.line(), record.offset(), lineNumber);
      if (moved != null) {
        WindowAccount account = accounts.of(moved.slot());
        account.counted.subtract(moved);
        account.counted.add(moved);
        changeRow(account, moved, last.offset(), tally -> tally.subtract(moved));
        changeRow(account, moved, record.offset(), tally -> tally.add(moved));
      }
      replays.moved(replayed, sourceLine, new Replays.Place(record.offset(), lineNumber));
      replays.takeMarker(replayed.partition(), replayed.offset(), sourceLine);
      part.refused++;
      return true;
    } catch (UnreadableException neverCounted) {
      return false;
    }
  }

  private static int endOfLine(byte[] value, int start) {
    int end = start;
    while (end < value.length && value[end] != '\n') {
      end++;
    }
    return end;
  }

  /**
   * Adds the lines of a batch.
   *
   * @return the number of lines at positions that were not read before
   */
  private int addLines(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch,
      JournalCoverage journal,
      byte[] value) {
    int lacking = 0;
    if (checksums.length < batch.count()) {
      checksums = new int[batch.count()];
    }
    int unkept = 0;
    int start = 0;
    for (int line = 1; line <= batch.count(); line++) {
      int end = endOfLine(value, start);
      long position = batch.linesBefore() + line;
      int checksum = seen.checksum(value, start, end - start);
      part.received++;
      if (journal.has(position)) {
        keep(record, batch, position, unkept);
        unkept = 0;
        if (isAnother(record, batch, position, line, checksum)) {
          addLine(part, record, batch, value, line, start, end - start);
        } else {
          part.duplicate++;
        }
      } else {
        lacking++;
        checksums[unkept++] = checksum;
        addLine(part, record, batch, value, line, start, end - start);
      }
      start = end + 1;
    }
    keep(record, batch, batch.lastPosition() + 1, unkept);
    return lacking;
  }

  private void keep(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch,
      long end,
      int count) {
    if (count > 0) {
      seen.keep(record.partition(), batch, end - count, checksums, count, record.offset());
    }
  }

  /**
   * Returns whether a position that was read before now has a different line. That line is counted
   * as another call.
   */
  private boolean isAnother(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch,
      long position,
      int line,
      int checksum) {
    long first = seen.otherAt(record.partition(), batch, position, checksum);
    if (first >= 0) {
      differences.add(
          place(record, line)
              + " differs from the line in record "
              + first
              + " at the same position: node "
              + batch.node()
              + ", epoch "
              + batch.epoch()
              + ", position "
              + position
              + " (the journal was restored)");
    }
    return first >= 0;
  }

  /**
   * Counts a line.
   *
   * @return false if it is refused
   */
  private boolean addLine(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      Batch batch,
      byte[] value,
      int lineNumber,
      int start,
      int length) {
    try {
      CallLine line = reader.read(value, start, length);
      long at = line.decidedAtEpochMillis();
      require(
          ClientPartitioner.partition(line.client(), partitions) == record.partition(),
          "its client belongs to a different partition");
      require(!part.broker().isFuture(at), "decided in the future");
      require(!part.broker().isTooOld(at), "decided too long ago");
      Slot slot = slotOf(line, record.partition());
      UsagePosition settledCall = line.settledCall();
      require(
          !line.isSettlement() || settledCall != null,
          "the settlement does not name the line of its call");
      require(
          settledCall == null
              || isCounted(part, record.partition(), settledCall)
              || isCountedInBatch(record.partition(), settledCall, batch, lineNumber),
          "the call that it settles was not counted");
      WindowAccount account = accounts.of(slot);
      long trusted = part.broker().trustedEpochMillis();
      boolean hasId = line.idFromCaller() || line.isSettlement();
      boolean repeated = hasId && ids.isKnown(line, trusted);
      if (repeated && line.isSettlement()) {
        drop(part, account, trusted);
        return true;
      }
      long units = line.units();
      require(
          units == 0 || Math.abs(account.counted.quantity + units) <= CallLine.MAX_NUMBER,
          "the quantity would exceed 2^53 − 1");
      if (repeated) {
        drop(part, account, trusted);
        return true;
      }
      if (hasId) {
        ids.remember(line, trusted);
      }
      part.counted++;
      long digest = batch.digestsLines() ? CallLine.digest(value, start, length) : line.digest();
      count(slot, account, line, record.offset(), digest);
      linesCounted++;
      if (account.firstCounted == 0) {
        account.firstCounted = linesCounted;
      }
      if (account.countedPeriod == null) {
        account.countedPeriod = line.billingPeriodOfWindow(slot.startEpochMillis());
      }
      noteForSettlements(slot, line, digest, record.offset(), lineNumber);
      return true;
    } catch (UnreadableException refused) {
      part.refused++;
      replays.refused(
          record.partition(), record.offset(), lineNumber, seen.checksum(value, start, length));
      seen.refuse(position(record.partition(), batch, lineNumber));
      quarantine.refused(record, lineNumber, start, length, String.valueOf(refused.getMessage()));
      return false;
    }
  }

  /**
   * Returns the slot of a line: that of its endpoint, or that of others if only others have a row
   * in the window. {@link EndpointOrder} checks later which endpoints should have a row.
   */
  private Slot slotOf(CallLine line, int partition) {
    long at = line.decidedAtEpochMillis();
    Slot own =
        new Slot(
            line.client(),
            line.meter(),
            line.endpoint(),
            at - Math.floorMod(at, windowMillis),
            partition);
    WindowAccount account = accounts.find(own);
    if (account != null && account.hasRow()) {
      return own;
    }
    WindowAccount others = accounts.find(own.others());
    return others != null && others.hasRow() ? own.others() : own;
  }

  /**
   * Returns whether a line was counted: it was read in an earlier record of the partition, and was
   * not refused or was replayed later.
   */
  private boolean isCounted(RecountedPartition part, int partition, UsagePosition line) {
    return line.partition() == partition
        && (seen.isReplayed(line) || (part.mayHaveRead(line) && !seen.isRefused(line)));
  }

  /** Returns whether a line is in the current batch before the given line, and was counted. */
  private boolean isCountedInBatch(int partition, UsagePosition line, Batch batch, int beforeLine) {
    return line.partition() == partition
        && line.nodeEpoch() == batch.epoch()
        && line.node().equals(batch.node())
        && line.line() > batch.linesBefore()
        && line.line() < batch.linesBefore() + beforeLine
        && !seen.isRefused(line);
  }

  private static UsagePosition position(int partition, Batch batch, int line) {
    return new UsagePosition(partition, batch.node(), batch.epoch(), batch.linesBefore() + line);
  }

  /** Counts a line in its row: the FINAL, or the adjustment for its record. */
  private void count(Slot slot, WindowAccount account, CallLine line, long offset, long digest) {
    account.counted.add(line, offset, digest);
    if (isInFinal(account, offset)) {
      account.countedFinal.add(line, offset, digest);
    } else {
      Adjustments.Id id = new Adjustments.Id(slot, offset, line.reason());
      adjustments.change(id, both -> both.counted.add(line, offset, digest));
      adjusted.add(id);
    }
  }

  private static boolean isInFinal(WindowAccount account, long offset) {
    return offset <= account.billedFinal.lastOffset;
  }

  /** Drops a duplicate. The FINAL row has the number of duplicates while its window was open. */
  private static void drop(
      RecountedPartition part, WindowAccount account, long trustedEpochMillis) {
    part.duplicate++;
    if (account.counted.hasAny() && trustedEpochMillis < account.closedAtEpochMillis) {
      account.countedFinal.duplicates++;
    } else if (account.counted.hasAny() && trustedEpochMillis == account.closedAtEpochMillis) {
      account.duplicatesAtClose++;
    }
  }

  private void noteForSettlements(
      Slot slot, CallLine line, long digest, long offset, int lineNumber) {
    if (line.isSettlement()) {
      settlements.settlementCounted(
          ids.callNumber(line),
          new Settlements.Settlement(
              slot,
              line.units(),
              digest,
              line.reason(),
              line.decidedAtEpochMillis(),
              offset,
              lineNumber,
              line.id()));
    } else if (line.allowed()) {
      settlements.callCounted(ids.callNumber(line));
    }
  }

  /**
   * Removes the settlements without a counted call, since a call that was never billed cannot be
   * credited. Nothing may be added afterwards.
   */
  void finish() throws IOException {
    closes.finish();
    settlements.forEachWithoutCall(
        settlement -> {
          Slot slot = settlement.slot();
          RecountedPartition part = part(slot.partition());
          if (settlement.decidedAtEpochMillis() < part.heldFromEpochMillis()) {
            return; // its call may have expired
          }
          WindowAccount account = accounts.of(slot);
          account.firstCounted = 0; // the first counted line may be this settlement
          account.counted.subtract(settlement);
          changeRow(account, settlement, settlement.offset(), row -> row.subtract(settlement));
          part.counted--;
          part.refused++;
          if (!quarantine.take(slot.partition(), settlement.offset(), settlement.line())) {
            differences.add(
                "calls "
                    + slot.partition()
                    + ":"
                    + settlement.offset()
                    + " line "
                    + settlement.line()
                    + " settles the call "
                    + settlement.id()
                    + " of "
                    + slot.client()
                    + ", which was never counted, by "
                    + settlement.units());
          }
        });
  }

  /** Changes the row that counts a settlement of the record with this offset. */
  private void changeRow(
      WindowAccount account,
      Settlements.Settlement settlement,
      long offset,
      Consumer<WindowFigures> change) {
    if (isInFinal(account, offset)) {
      change.accept(account.countedFinal);
    } else {
      adjustments.change(
          new Adjustments.Id(settlement.slot(), offset, settlement.reason()),
          both -> change.accept(both.counted));
    }
  }

  @Override
  public void close() throws IOException {
    settlements.close();
  }

  private void refuse(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      String reason) {
    byte[] value = record.value() == null ? new byte[0] : record.value();
    long refused = Math.max(1, lines(value));
    part.received += refused;
    part.refused += refused;
    noteRefusedLines(record, value);
    quarantine.refused(record, 0, 0, value.length, reason);
  }

  /** Records the refusal of each line; line 0 is the whole record. */
  private void noteRefusedLines(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, byte[] value) {
    replays.refused(record.partition(), record.offset(), 0, seen.checksum(value, 0, value.length));
    int start = 0;
    for (int line = 1; line <= Batch.MAX_LINES && start < value.length; line++) {
      int end = endOfLine(value, start);
      replays.refused(
          record.partition(), record.offset(), line, seen.checksum(value, start, end - start));
      start = end + 1;
    }
  }

  private static String place(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, int line) {
    return "calls " + record.partition() + ":" + record.offset() + " line " + line;
  }

  private static void require(boolean holds, String otherwise) throws UnreadableException {
    if (!holds) {
      throw new UnreadableException(otherwise);
    }
  }

  /** Returns the number of lines of a value. The last line may lack its line feed. */
  private static int lines(byte[] value) {
    int lines = 0;
    for (int i = 0; i < value.length; i++) {
      if (value[i] == '\n' || i == value.length - 1) {
        lines++;
      }
    }
    return lines;
  }
}
