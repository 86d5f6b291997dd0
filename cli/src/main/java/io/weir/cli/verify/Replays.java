// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The refused lines, the refused lines that a replay has delivered, and the lines that the
 * quarantine marks as counted. Line 0 is a record that is replayed as a whole. Stored on disk. Not
 * thread-safe.
 */
final class Replays {
  private static final Pattern PLACE = Pattern.compile("(\\d{1,6})@(\\d{1,15})");
  private static final Pattern SOURCE = Pattern.compile("weir\\.calls\\.v1-(\\d{1,6})-(\\d{1,18})");
  private static final Pattern RANGE = Pattern.compile("(\\d{1,9})(?:-(\\d{1,9}))?");
  private static final String WHOLE = "record";

  private final Scratch scratch;
  private final Differences differences;

  Replays(Scratch scratch, Differences differences) {
    this.scratch = scratch;
    this.differences = differences;
  }

  /** The position of a line in the partition that refused it. */
  record Place(long offset, int line) {}

  /** Returns the newest known position of a refused line. */
  Place newestPlace(Replayed replayed, int line) {
    byte[] moved = scratch.get(key(Scratch.MOVED, replayed.partition(), replayed.offset(), line));
    if (moved == null) {
      return new Place(replayed.offset(), line);
    }
    ByteBuffer place = ByteBuffer.wrap(moved);
    return new Place(place.getLong(), place.getInt());
  }

  /** Records that a refused line now has another position. */
  void moved(Replayed replayed, int line, Place to) {
    scratch.put(
        key(Scratch.MOVED, replayed.partition(), replayed.offset(), line),
        ByteBuffer.allocate(Long.BYTES + Integer.BYTES)
            .putLong(to.offset())
            .putInt(to.line())
            .array());
  }

  /** Returns whether a record of the quarantine is a marker that refused lines were counted. */
  static boolean isMarker(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return Batch.text(record, "weir-replayed") != null;
  }

  /** Adds such a marker. */
  void addMarker(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    Matcher place = PLACE.matcher(String.valueOf(Batch.text(record, "weir-replayed")));
    Matcher source = SOURCE.matcher(String.valueOf(Batch.text(record, "weir-source")));
    byte[] value = record.value();
    String lines = value == null ? "" : new String(value, StandardCharsets.UTF_8);
    if (!place.matches() || !source.matches()) {
      differences.add(
          "quarantine "
              + record.partition()
              + ":"
              + record.offset()
              + " does not identify the replayed record");
      return;
    }
    byte[] by =
        ByteBuffer.allocate(Integer.BYTES + Long.BYTES)
            .putInt(Integer.parseInt(source.group(1)))
            .putLong(Long.parseLong(source.group(2)))
            .array();
    int partition = Integer.parseInt(place.group(1));
    long offset = Long.parseLong(place.group(2));
    if (lines.equals(WHOLE)) {
      scratch.put(key(Scratch.REPLAY_MARKER, partition, offset, 0), by);
    }
    for (Matcher range = RANGE.matcher(lines); range.find(); ) {
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      for (int line = first; line <= last; line++) {
        scratch.put(key(Scratch.REPLAY_MARKER, partition, offset, line), by);
      }
    }
  }

  /** Records that a line was refused. */
  void refused(int partition, long offset, int line, int checksum) {
    scratch.put(
        key(Scratch.REFUSED, partition, offset, line),
        ByteBuffer.allocate(Integer.BYTES).putInt(checksum).array());
  }

  boolean isRefused(int partition, long offset, int line) {
    return scratch.get(key(Scratch.REFUSED, partition, offset, line)) != null;
  }

  /** Returns whether a replay has already delivered a line. */
  boolean isTaken(int partition, long offset, int line) {
    return scratch.get(key(Scratch.REPLAYED, partition, offset, line)) != null;
  }

  /**
   * Records that a replay has delivered a line.
   *
   * @param by the record of the replay
   */
  void take(
      ConsumerRecord<@Nullable String, byte @Nullable []> by,
      int partition,
      long offset,
      int line,
      int checksum,
      boolean isQuarantineHeld) {
    scratch.put(
        key(Scratch.REPLAYED, partition, offset, line),
        ByteBuffer.allocate(Integer.BYTES).putInt(checksum).array());
    if (!takeMarker(partition, offset, line) && isQuarantineHeld) {
      differences.add(
          place(partition, offset, line)
              + " was replayed by calls "
              + by.partition()
              + ":"
              + by.offset()
              + ", but the quarantine does not mark it as counted");
    }
  }

  /**
   * Removes the marker of a line.
   *
   * @return whether there was one
   */
  boolean takeMarker(int partition, long offset, int line) {
    byte[] key = key(Scratch.REPLAY_MARKER, partition, offset, line);
    boolean isThere = scratch.get(key) != null;
    if (isThere) {
      scratch.delete(key);
    }
    return isThere;
  }

  /**
   * Reports lines that were replayed without a refusal, and markers without a replay.
   *
   * @param begins the first offset of each partition of the calls topic
   * @param ends the offset after the last recounted record, by partition
   */
  void finish(Map<Integer, Long> begins, Map<Integer, Long> ends) {
    scan(
        Scratch.REPLAYED,
        (partition, offset, line, value) -> {
          byte[] refused = scratch.get(key(Scratch.REFUSED, partition, offset, line));
          boolean isHeld = offset >= begins.getOrDefault(partition, Long.MAX_VALUE);
          if (refused == null ? isHeld : !ByteBuffer.wrap(refused).equals(ByteBuffer.wrap(value))) {
            differences.add(
                place(partition, offset, line)
                    + (refused == null
                        ? " was replayed, but was not refused"
                        : " was replayed with other bytes"));
          }
        });
    scan(
        Scratch.REPLAY_MARKER,
        (partition, offset, line, value) -> {
          ByteBuffer by = ByteBuffer.wrap(value);
          int byPartition = by.getInt();
          long byOffset = by.getLong();
          if (byOffset >= begins.getOrDefault(byPartition, 0L)
              && byOffset < ends.getOrDefault(byPartition, 0L)) {
            differences.add(
                place(partition, offset, line)
                    + " is marked as counted by a replay, but calls "
                    + byPartition
                    + ":"
                    + byOffset
                    + " is not its replay");
          }
        });
  }

  private interface Visitor {
    void visit(int partition, long offset, int line, byte[] value);
  }

  private void scan(byte kind, Visitor visitor) {
    scratch.scan(
        new byte[] {kind},
        new byte[] {(byte) (kind + 1)},
        (key, value) -> {
          ByteBuffer place = ByteBuffer.wrap(key, 1, key.length - 1);
          visitor.visit(place.getInt(), place.getLong(), place.getInt(), value);
          return true;
        });
  }

  private static String place(int partition, long offset, int line) {
    return "calls " + partition + ":" + offset + (line == 0 ? "" : " line " + line);
  }

  private static byte[] key(byte kind, int partition, long offset, int line) {
    return Scratch.key(kind, Long.BYTES + 2 * Integer.BYTES)
        .putInt(partition)
        .putLong(offset)
        .putInt(line)
        .array();
  }
}
