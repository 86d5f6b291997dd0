// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.CallLine;
import io.weir.cli.records.CallLineReader;
import io.weir.cli.records.UnreadableException;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * Counts all calls again with its own rules. The recount reads every line of every batch. It counts
 * each position of a journal once, and each id that a caller chose once. It counts the first
 * settlement of each call in the window of the call. The first line of a window sets its billing
 * period. Not thread-safe.
 */
final class CallRecount implements AutoCloseable {
  private final VerifyData data;
  private final long latenessMillis;
  private final int partitions;
  private final Set<String> givenUp;
  private final Ids ids;
  private final SeenLines seen;
  private final Settlements settlements;
  private final CountedRows rows;
  private final CallLineReader reader = new CallLineReader();
  private final Map<Integer, RecountedPartition> parts = new HashMap<>();

  private int[] checksums = new int[0];

  /**
   * Creates an empty recount.
   *
   * @param data the ledger, the state topic and the quarantine, which were read before
   * @param givenUp records that an operator moved to the quarantine, as {@code partition@offset}
   */
  CallRecount(VerifyData data, long latenessMillis, int partitions, Set<String> givenUp)
      throws IOException {
    this.data = data;
    this.latenessMillis = latenessMillis;
    this.partitions = partitions;
    this.givenUp = Set.copyOf(givenUp);
    this.ids = new Ids(data.scratch, latenessMillis);
    this.seen = new SeenLines(data.scratch);
    this.settlements = new Settlements(data.scratch);
    this.rows = new CountedRows(data);
  }

  RecountedPartition part(int partition) {
    return parts.computeIfAbsent(partition, first -> new RecountedPartition(latenessMillis));
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    RecountedPartition part = part(record.partition());
    part.beginsWith(record.offset(), record.timestamp());
    byte[] value = record.value() == null ? new byte[0] : record.value();
    try {
      if (givenUp.contains(record.partition() + "@" + record.offset())) {
        throw new UnreadableException("given up by WEIR_QUARANTINE_RECORDS");
      }
      if (isCacheLoss(record)) {
        part.noteTime(record.timestamp(), CacheLossCodec.decode(value).foundAtEpochMillis());
      } else {
        new BatchRecount(part, record, value, CallBatch.of(record)).add();
      }
    } catch (MalformedRecordException malformed) {
      refuse(part, record, value, "a cache-loss record is malformed");
    } catch (UnreadableException unreadable) {
      refuse(part, record, value, String.valueOf(unreadable.getMessage()));
    }
    rows.recordTaken(part);
    data.closes.recordTaken(record.partition(), part);
  }

  private void refuse(
      RecountedPartition part,
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      byte[] value,
      String reason) {
    int lines = isCacheLoss(record) ? 0 : lines(value);
    part.received += Math.max(1, lines);
    part.refused += Math.max(1, lines);
    LinePlace whole = new LinePlace(record.partition(), record.offset(), 0);
    data.replays.refused(whole, SeenLines.checksum(value));
    for (int line = 1; line <= lines; line++) {
      data.replays.refused(whole.line(line), SeenLines.checksum(reader.digest(line)));
    }
    data.quarantine.refusedRecord(record, whole, reason);
  }

  private static boolean isCacheLoss(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return CacheLossCodec.TYPE.equals(CallBatch.text(record, "weir-type"));
  }

  /** Reads a value and returns its number of lines; 0 if it is unreadable. */
  private int lines(byte[] value) {
    try {
      return reader.read(value);
    } catch (UnreadableException unreadable) {
      return 0;
    }
  }

  private static void require(boolean holds, String otherwise) throws UnreadableException {
    if (!holds) {
      throw new UnreadableException(otherwise);
    }
  }

  private final class BatchRecount {
    private final RecountedPartition part;
    private final ConsumerRecord<@Nullable String, byte @Nullable []> record;
    private final byte[] value;
    private final CallBatch batch;

    BatchRecount(
        RecountedPartition part,
        ConsumerRecord<@Nullable String, byte @Nullable []> record,
        byte[] value,
        CallBatch batch) {
      this.part = part;
      this.record = record;
      this.value = value;
      this.batch = batch;
    }

    private LinePlace place(int line) {
      return new LinePlace(record.partition(), record.offset(), line);
    }

    private UsagePosition position(int line) {
      return new UsagePosition(
          record.partition(), batch.node(), batch.epoch(), batch.linesBefore() + line);
    }

    void add() throws UnreadableException {
      part.noteTime(record.timestamp(), batch.lowWatermarkEpochMillis());
      int found = reader.read(value);
      if (found != batch.count()) {
        throw new UnreadableException("it has " + found + " lines, not " + batch.count());
      }
      LinePlace replayed = LinePlace.ofReplay(record);
      if (replayed != null && replayed.line() > 0) {
        addReplayedLines(replayed);
        return;
      }
      long at = part.trustedEpochMillis();
      long promise = Math.min(batch.lowWatermarkEpochMillis(), at);
      JournalCoverage journal = part.journal(batch, promise, at);
      if (found > 0) {
        int lacking = addLines(journal);
        if (replayed != null && lacking > 0) {
          takeReplayed(replayed, SeenLines.checksum(value));
        }
      }
      if (replayed != null) {
        data.replays.takeMarker(replayed);
      }
      journal.note(batch, promise, at);
    }

    /**
     * Adds replayed lines, which have positions outside all journals. A line that was refused in
     * its partition is counted once. Any other line is a duplicate.
     */
    private void addReplayedLines(LinePlace firstReplayed) {
      for (int line = 1; line <= batch.count(); line++) {
        LinePlace source = firstReplayed.line(firstReplayed.line() + line - 1);
        part.received++;
        if (mayBeTaken(source)) {
          if (addLine(line)) {
            takeReplayed(source, checksum(line));
            seen.replay(position(line));
          }
        } else if (!isSettlementOfLaterCall(source, line)) {
          part.duplicate++;
          data.replays.takeMarker(source);
        }
      }
    }

    private int checksum(int line) {
      return SeenLines.checksum(reader.digest(line));
    }

    private boolean mayBeTaken(LinePlace source) {
      boolean isJudgedHere =
          source.partition() == record.partition() && source.offset() >= part.firstOffset();
      return !data.replays.isTaken(source) && (!isJudgedHere || data.replays.isRefused(source));
    }

    private void takeReplayed(LinePlace source, int checksum) {
      data.replays.take(record, source, checksum, data.quarantine.keepsRecordsOf(record));
    }

    /**
     * Handles a replayed settlement that was refused because its call was not counted yet. The
     * recount has already counted the settlement at its first position, because only the end shows
     * which settlements have no counted call. This method moves the settlement to its new position.
     *
     * @return whether the line is a replayed settlement of this kind
     */
    private boolean isSettlementOfLaterCall(LinePlace source, int lineNumber) {
      try {
        CallLine line = reader.line(lineNumber);
        LinePlace last = data.replays.newestPlace(source);
        if (!line.isSettlement()
            || source.partition() != record.partition()
            || !data.quarantine.take(last)) {
          return false;
        }
        Settlements.Settlement moved =
            settlements.settlementMoved(ids.callNumber(line), last, place(lineNumber));
        if (moved != null) {
          rows.move(moved, last.offset(), record.offset());
        }
        data.replays.moved(source, place(lineNumber));
        data.replays.takeMarker(source);
        part.refused++;
        return true;
      } catch (UnreadableException neverCounted) {
        return false;
      }
    }

    /**
     * Adds the lines of the batch.
     *
     * @return the number of lines at positions that were not read before
     */
    private int addLines(JournalCoverage journal) {
      int lacking = 0;
      if (checksums.length < batch.count()) {
        checksums = new int[batch.count()];
      }
      int unkept = 0;
      for (int line = 1; line <= batch.count(); line++) {
        long position = batch.linesBefore() + line;
        int checksum = checksum(line);
        part.received++;
        if (journal.has(position)) {
          keep(position, unkept);
          unkept = 0;
          if (isAnother(position, line, checksum)) {
            addLine(line);
          } else {
            part.duplicate++;
          }
        } else {
          lacking++;
          checksums[unkept++] = checksum;
          addLine(line);
        }
      }
      keep(batch.lastPosition() + 1, unkept);
      return lacking;
    }

    private void keep(long end, int count) {
      if (count > 0) {
        seen.keep(record.partition(), batch, end - count, checksums, count, record.offset());
      }
    }

    /**
     * Returns whether the line at a repeated position differs from the first line there. Such a
     * line is counted as another call.
     */
    private boolean isAnother(long position, int line, int checksum) {
      long first = seen.otherAt(record.partition(), batch, position, checksum);
      if (first >= 0) {
        data.differences.add(
            ("%s differs from the line in record %d at the same position: node %s, epoch %d,"
                    + " position %d (the journal was restored)")
                .formatted(place(line), first, batch.node(), batch.epoch(), position));
      }
      return first >= 0;
    }

    /**
     * Counts a line.
     *
     * @return false if the line is refused
     */
    private boolean addLine(int lineNumber) {
      try {
        CallLine line = reader.line(lineNumber);
        WindowAccount account = data.accounts.of(requireCountable(line, lineNumber));
        long trusted = part.trustedEpochMillis();
        boolean hasId = line.isIdFromCaller || line.isSettlement();
        boolean repeated = hasId && ids.isKnown(line, trusted);
        if (repeated && line.isSettlement()) {
          drop(account);
          return true;
        }
        long units = line.units();
        require(
            units == 0 || Math.abs(account.counted.quantity + units) <= CallLine.MAX_NUMBER,
            "the quantity would exceed 2^53 − 1");
        if (repeated) {
          drop(account);
          return true;
        }
        if (hasId) {
          ids.remember(line, trusted);
        }
        count(account, line, lineNumber, reader.digest(lineNumber));
        return true;
      } catch (UnreadableException refused) {
        part.refused++;
        LinePlace place = place(lineNumber);
        data.replays.refused(place, checksum(lineNumber));
        seen.refuse(position(lineNumber));
        data.quarantine.refusedLine(
            record, place, reader.digest(lineNumber), String.valueOf(refused.getMessage()));
        return false;
      }
    }

    /**
     * Checks all rules for a line except the one for its quantity, and returns the slot of the
     * line.
     */
    private Slot requireCountable(CallLine line, int lineNumber) throws UnreadableException {
      require(
          ClientPartitioner.partition(line.client.toString(), partitions) == record.partition(),
          "its client belongs to a different partition");
      require(!part.isFuture(line.decidedAtEpochMillis), "decided in the future");
      require(!part.isTooOld(line.decidedAtEpochMillis), "decided too long ago");
      UsagePosition settledCall = line.settledCall;
      require(
          !line.isSettlement() || settledCall != null,
          "the settlement does not name the line of its call");
      require(
          settledCall == null
              || isCounted(settledCall)
              || isCountedInBatch(settledCall, lineNumber),
          "the settled call was not counted");
      return slotOf(line);
    }

    /**
     * Returns the slot of a line: the slot of its endpoint, or the slot of others if only others
     * have a row in the window. {@link EndpointOrder} checks later which endpoints should have a
     * row.
     */
    private Slot slotOf(CallLine line) {
      long at = line.decidedAtEpochMillis;
      Slot own =
          new Slot(
              line.client.toString(),
              line.meter.toString(),
              line.endpoint.toString(),
              at - Math.floorMod(at, data.range.windowMillis()),
              record.partition());
      WindowAccount account = data.accounts.find(own);
      if (account != null && account.hasRow()) {
        return own;
      }
      WindowAccount others = data.accounts.find(own.others());
      return others != null && others.hasRow() ? own.others() : own;
    }

    /**
     * Returns whether a line was counted. A line was counted if an earlier record of the partition
     * has it, and it was not refused or was replayed later.
     */
    private boolean isCounted(UsagePosition line) {
      return line.partition() == record.partition()
          && (seen.isReplayed(line) || (part.mayHaveRead(line) && !seen.isRefused(line)));
    }

    /** Returns whether a line is in this batch before the given line, and was counted. */
    private boolean isCountedInBatch(UsagePosition line, int beforeLine) {
      return line.partition() == record.partition()
          && line.nodeEpoch() == batch.epoch()
          && line.node().equals(batch.node())
          && line.line() > batch.linesBefore()
          && line.line() < batch.linesBefore() + beforeLine
          && !seen.isRefused(line);
    }

    private void count(WindowAccount account, CallLine line, int lineNumber, long digest) {
      part.counted++;
      rows.count(account, line, record.offset(), digest);
      if (line.isSettlement()) {
        settlements.settlementCounted(
            ids.callNumber(line),
            new Settlements.Settlement(
                account.slot,
                line.units(),
                digest,
                line.reason(),
                line.decidedAtEpochMillis,
                place(lineNumber),
                line.id.toString()));
      } else if (line.allowed) {
        settlements.callCounted(ids.callNumber(line));
      }
    }

    private void drop(WindowAccount account) {
      part.duplicate++;
      CountedRows.drop(account, part.trustedEpochMillis());
    }
  }

  /**
   * Removes the settlements without a counted call, since a call that was never billed cannot be
   * credited. Nothing may be added afterwards.
   */
  void finish() throws IOException {
    data.closes.finish();
    settlements.forEachWithoutCall(
        settlement -> {
          LinePlace place = settlement.place();
          RecountedPartition part = part(place.partition());
          if (settlement.decidedAtEpochMillis() < part.heldFromEpochMillis()) {
            return; // its call may have expired
          }
          rows.remove(settlement);
          part.counted--;
          part.refused++;
          if (!data.quarantine.take(place)) {
            data.differences.add(
                "%s settles the call %s of %s, which was never counted, by %d"
                    .formatted(
                        place, settlement.id(), settlement.slot().client(), settlement.units()));
          }
        });
  }

  @Override
  public void close() throws IOException {
    settlements.close();
  }
}
