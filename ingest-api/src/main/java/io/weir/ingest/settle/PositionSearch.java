// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsagePosition;

/**
 * A search for the batch that contains a given position. The lines of a journal epoch are in the
 * partition in order. So any batch of the journal shows whether the line precedes or follows the
 * batch. The search first reads at an offset that it derives from the time in the id. This offset
 * is nearly always right; if it is wrong, a binary search follows. The number of bytes read grows
 * with the logarithm of the partition's size, and not with the traffic. Not thread-safe.
 */
final class PositionSearch {
  /** Maximum difference between the clocks of nodes and the broker. */
  private static final long SLACK_MILLIS = 5_000;

  /**
   * Maximum number of bytes read after a guessed offset. A busy partition receives this amount in
   * about half a second.
   */
  private static final long GUESS_BYTES = 4L << 20;

  /** Maximum number of bytes read to find a batch of the journal. */
  private static final long PROBE_BYTES = 2L << 20;

  /**
   * After a heartbeat of a newer epoch, the maximum number of bytes read to find lines of older
   * epochs. A node sends the first heartbeat of a new epoch just before the remaining lines of
   * older epochs.
   */
  private static final long FIRST_HEARTBEAT_BYTES = 512 << 10;

  /**
   * If the search interval has at most this number of records, the search reads the whole interval.
   */
  private static final long NEAR_RECORDS = 32;

  private final PartitionReader reader;
  private final CallLineSelection lines;
  private final UsagePosition at;
  private boolean isHeard;
  private boolean isPassed;

  /** The outcome of the search for the line. */
  enum Result {
    /** The search found and examined the line. */
    EXAMINED,
    /** The topic contains batches of the journal, but not the line yet. */
    TO_COME,
    /** The topic does not contain the line, or contains no batch of the journal. */
    NOWHERE
  }

  /** The location of a record relative to the line to find. */
  private enum Side {
    BEFORE,
    HERE,
    BEHIND,
    /** The record follows the line if no lines of older epochs follow the record. */
    PERHAPS_BEHIND,
    UNKNOWN,
    /**
     * Of two adjacent batches of the journal, one precedes the line and one follows it. So the
     * topic does not contain the line.
     */
    BETWEEN
  }

  /**
   * The result of one probe of the log.
   *
   * @param next the offset after the record that determined the side
   */
  private record Look(Side side, long next) {}

  PositionSearch(PartitionReader reader, CallLineSelection lines, UsagePosition at) {
    this.reader = reader;
    this.lines = lines;
    this.at = at;
  }

  /**
   * Finds and examines the line. Waits for a line that is in flight.
   *
   * @param guess an offset at or before which the line is expected
   */
  Result run(long guess) throws Spent, InterruptedException {
    long low = reader.offsetAt(Math.max(0, at.nodeEpoch() - SLACK_MILLIS));
    long end = reader.end();
    long high = end;
    long probe = Math.max(low, Math.min(guess, high));
    long skipBytes = GUESS_BYTES;
    while (low < high) {
      Look look = look(probe, high, skipBytes);
      if (look.side() == Side.HERE || look.side() == Side.BETWEEN) {
        return look.side() == Side.HERE ? Result.EXAMINED : Result.NOWHERE;
      }
      if (look.side() == Side.BEFORE) {
        low = look.next();
      } else {
        high = probe;
      }
      boolean isNear = high - low <= NEAR_RECORDS;
      probe = isNear ? low : low + (high - low) / 2;
      skipBytes = isNear ? GUESS_BYTES : 0;
    }
    if (isPassed || !isHeard) {
      return Result.NOWHERE;
    }
    return Arrival.await(reader, end, batch -> side(batch) == Side.HERE)
        ? Result.EXAMINED
        : Result.TO_COME;
  }

  /**
   * Reads records until one record shows the location of the line.
   *
   * @param skipBytes maximum number of bytes to read while the records precede the line
   */
  private Look look(long from, long to, long skipBytes) throws Spent, InterruptedException {
    Look before = new Look(Side.UNKNOWN, from);
    long bytes = 0;
    for (long offset = from; offset < to; ) {
      Slice slice = reader.read(offset);
      for (CallsRecord batch : slice.records()) {
        Side side = batch.offset() < to ? side(batch) : Side.UNKNOWN;
        if (side == Side.BEHIND && before.side() == Side.BEFORE) {
          return new Look(Side.BETWEEN, batch.offset());
        }
        if (side == Side.HERE || side == Side.BEHIND) {
          return new Look(side, batch.offset() + 1);
        }
        if (side == Side.BEFORE) {
          before = new Look(side, batch.offset() + 1);
        }
        if (side == Side.PERHAPS_BEHIND && before.side() == Side.UNKNOWN) {
          before = new Look(side, batch.offset() + 1);
        }
      }
      offset = slice.next();
      bytes += slice.bytes();
      if (bytes >= mostBytes(before.side(), skipBytes)) {
        return before;
      }
    }
    return new Look(before.side(), to);
  }

  private static long mostBytes(Side seen, long skipBytes) {
    if (seen == Side.BEFORE) {
      return skipBytes;
    }
    return seen == Side.PERHAPS_BEHIND ? FIRST_HEARTBEAT_BYTES : PROBE_BYTES;
  }

  private Side side(CallsRecord batch) {
    BatchHeader header = batch.header();
    if (header == null || !header.node().equals(at.node())) {
      return Side.UNKNOWN;
    }
    boolean isOfJournal = header.nodeEpoch() == at.nodeEpoch();
    isHeard |= isOfJournal;
    if (header.nodeEpoch() < at.nodeEpoch() || (isOfJournal && header.linesEnd() < at.line())) {
      isPassed |= isOfJournal && header.departing();
      return Side.BEFORE;
    }
    if (isOfJournal && header.linesBefore() < at.line()) {
      lines.take(header, batch.value(), at.line() - header.linesBefore());
      return Side.HERE;
    }
    if (!isOfJournal && header.linesEnd() == header.linesBeforeEpoch()) {
      // the newer epoch has published no line yet, so an older line may be in flight or lost
      isPassed |= header.linesBeforeEpoch() < at.line();
      return Side.PERHAPS_BEHIND;
    }
    isPassed = true;
    return Side.BEHIND;
  }
}
