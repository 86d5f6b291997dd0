// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.log.CallsRecord;
import java.util.UUID;

/**
 * A search for a call by its id alone. The search first reads the partition around the time in the
 * id. Then it reads backwards from the end, in parts of growing size. The search also waits once,
 * at the end of the partition, for a call that is in flight. Not thread-safe.
 */
final class IdSearch {
  /**
   * How long before the id's time the search begins to read. The margin allows for different clocks
   * and delayed batches.
   */
  static final long NEAR_MILLIS = 250;

  /** Maximum difference between the clocks of nodes, callers and the broker. */
  private static final long SLACK_MILLIS = 5_000;

  /**
   * The search reads records up to this time after the id's time. Retries of the call, and lines
   * from the backlog of a journal, may have this delay.
   */
  private static final long BEHIND_HINT_MILLIS = 600_000;

  /**
   * Maximum number of bytes read after the id's time. The same maximum applies to the bytes before
   * the id's time.
   */
  private static final long HINT_BYTES = 8L << 20;

  /**
   * Maximum number of bytes read backwards. The search reserves the rest of its maximum for a call
   * in flight.
   */
  private static final long BACK_BYTES = 24L << 20;

  /**
   * Number of records in the newest part. The number grows fourfold with each earlier part, up to a
   * maximum.
   */
  static final long NEWEST_RECORDS = 16;

  private static final int GROWTH = 4;
  private static final long MOST_RECORDS = 4_096;

  private static final int UUID_CHARS = 36;
  private static final int TIME_BASED_RANDOM = 7;
  private static final int TIME_SHIFT = 16;

  private final PartitionReader reader;
  private final CallLineSelection lines;
  private final long nowMillis;
  private boolean hasWaited;

  /** Start of the period that was read completely. The period ends at {@link #nowMillis}. */
  private long readFromMillis;

  private boolean hasReadAll;
  private long oldestSeenMillis;
  private long bytesRead;
  private long backBytes;

  IdSearch(PartitionReader reader, CallLineSelection lines, long nowMillis) {
    this.reader = reader;
    this.lines = lines;
    this.nowMillis = nowMillis;
    this.readFromMillis = nowMillis;
  }

  /** Returns the time in a UUIDv7 (RFC 9562 §5.7) in epoch milliseconds, or −1 for any other id. */
  static long timeIn(String id) {
    if (id.length() != UUID_CHARS) {
      return -1;
    }
    try {
      UUID uuid = UUID.fromString(id);
      return uuid.version() == TIME_BASED_RANDOM
          ? uuid.getMostSignificantBits() >>> TIME_SHIFT
          : -1;
    } catch (IllegalArgumentException otherId) {
      return -1;
    }
  }

  /** Returns the start of the period that was read completely, in milliseconds since the epoch. */
  long readFromEpochMillis() {
    return readFromMillis;
  }

  /**
   * Returns whether the search has read every record that may contain an allowed call with the id.
   * This requires a complete read of the partition from the time in the id, or from the partition's
   * beginning.
   */
  boolean hasReadAll() {
    return hasReadAll;
  }

  /**
   * Searches until an allowed call is found or the permitted part of the partition was read.
   *
   * @param hintMillis the time in the id; −1 if the id contains none
   * @param horizonMillis how far back in time to search
   */
  void run(long hintMillis, long horizonMillis) throws Spent, InterruptedException {
    if (hintMillis >= 0) {
      lookAt(hintMillis);
    }
    if (!lines.hasAllowed()) {
      lookBack(reader.end(), nowMillis - horizonMillis);
      hasReadAll |= hintMillis >= 0 && readFromMillis < hintMillis - SLACK_MILLIS;
    }
  }

  private void lookAt(long hintMillis) throws Spent, InterruptedException {
    long near = reader.offsetAt(Math.max(0, hintMillis - NEAR_MILLIS));
    long end = reader.end();
    long read = scan(near, end, HINT_BYTES, hintMillis + BEHIND_HINT_MILLIS);
    if (!lines.hasAllowed() && hintMillis > nowMillis - SLACK_MILLIS) {
      await(read);
    }
    if (!lines.hasAllowed()) {
      long early = reader.offsetAt(Math.max(0, hintMillis - SLACK_MILLIS));
      scan(early, near, HINT_BYTES, Long.MAX_VALUE);
    }
  }

  private void lookBack(long end, long oldestMillis) throws Spent, InterruptedException {
    long begin = reader.begin();
    long records = NEWEST_RECORDS;
    long to = end;
    hasReadAll = to <= begin;
    while (to > begin && readFromMillis > oldestMillis && backBytes < BACK_BYTES) {
      long from = Math.max(begin, to - records);
      boolean isWhole = lookThrough(from, to);
      if (lines.hasAllowed()) {
        return;
      }
      if (isWhole) {
        hasReadAll |= from == begin;
        readFromMillis = Math.min(readFromMillis, from == begin ? oldestMillis : oldestSeenMillis);
      }
      if (records > NEWEST_RECORDS) {
        await(end);
      }
      to = from;
      records = Math.min(MOST_RECORDS, records * GROWTH);
    }
    await(end);
  }

  /**
   * Reads a part of the partition, up to the maximum number of bytes read backwards.
   *
   * @return whether the whole part was read
   */
  private boolean lookThrough(long from, long to) throws Spent, InterruptedException {
    oldestSeenMillis = readFromMillis;
    long bytesBefore = bytesRead;
    long reached = scan(from, to, BACK_BYTES - backBytes, Long.MAX_VALUE);
    backBytes += bytesRead - bytesBefore;
    return reached >= to;
  }

  /** Waits, once per search, for a call that is in flight. */
  private void await(long from) throws Spent, InterruptedException {
    if (!hasWaited && !lines.hasAllowed()) {
      hasWaited = true;
      boolean unused =
          Arrival.await(
              reader,
              from,
              batch -> {
                lines.take(batch);
                return lines.hasAllowed();
              });
    }
  }

  /**
   * Reads a part of the partition until an allowed call is found.
   *
   * @param maxBytes maximum number of bytes to read
   * @param toMillis the latest append time, by the broker's clock, of batches to examine
   * @return the offset after the last record read
   */
  private long scan(long from, long to, long maxBytes, long toMillis)
      throws Spent, InterruptedException {
    long bytes = 0;
    long offset = from;
    while (offset < to && bytes < maxBytes && !lines.hasAllowed()) {
      Slice slice = reader.read(offset);
      for (CallsRecord batch : slice.records()) {
        if (batch.header() != null
            && batch.offset() < to
            && batch.appendEpochMillis() <= toMillis) {
          oldestSeenMillis = Math.min(oldestSeenMillis, batch.appendEpochMillis());
          lines.take(batch);
        }
      }
      offset = slice.next();
      bytes += slice.bytes();
      bytesRead += slice.bytes();
    }
    return offset;
  }
}
