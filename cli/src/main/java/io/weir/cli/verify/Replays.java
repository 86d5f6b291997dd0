// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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
  private static final Pattern RANGE = Pattern.compile("(\\d{1,9})(?:-(\\d{1,9}))?");
  private static final String WHOLE = "record";

  private final Scratch scratch;
  private final Differences differences;

  Replays(Scratch scratch, Differences differences) {
    this.scratch = scratch;
    this.differences = differences;
  }

  /** Returns the newest known place of a refused line. */
  LinePlace newestPlace(LinePlace refused) {
    byte[] moved = scratch.get(refused.key(Scratch.MOVED));
    if (moved == null) {
      return refused;
    }
    ByteBuffer place = ByteBuffer.wrap(moved);
    return new LinePlace(refused.partition(), place.getLong(), place.getInt());
  }

  /** Records that a refused line now has another place. */
  void moved(LinePlace refused, LinePlace to) {
    scratch.put(
        refused.key(Scratch.MOVED),
        ByteBuffer.allocate(Long.BYTES + Integer.BYTES)
            .putLong(to.offset())
            .putInt(to.line())
            .array());
  }

  /** Returns whether a record of the quarantine is a marker that refused lines were counted. */
  static boolean isMarker(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return CallBatch.text(record, "weir-replayed") != null;
  }

  /** Adds a marker that refused lines were counted. */
  void addMarker(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    LinePlace refused = LinePlace.ofHeader(CallBatch.text(record, "weir-replayed"));
    LinePlace source = LinePlace.ofSource(CallBatch.text(record, "weir-source"));
    byte[] value = record.value();
    String lines = value == null ? "" : new String(value, StandardCharsets.UTF_8);
    if (refused == null || source == null) {
      differences.add(
          "quarantine record %d@%d does not identify the replayed record"
              .formatted(record.partition(), record.offset()));
      return;
    }
    byte[] by =
        ByteBuffer.allocate(Integer.BYTES + Long.BYTES)
            .putInt(source.partition())
            .putLong(source.offset())
            .array();
    if (lines.equals(WHOLE)) {
      putMarker(refused, by);
    }
    for (Matcher range = RANGE.matcher(lines); range.find(); ) {
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      for (int line = first; line <= last; line++) {
        putMarker(refused.line(line), by);
      }
    }
  }

  private void putMarker(LinePlace place, byte[] by) {
    scratch.put(place.key(Scratch.REPLAY_MARKER), by);
  }

  /** Records that a line was refused. */
  void refused(LinePlace place, int checksum) {
    scratch.put(place.key(Scratch.REFUSED), bytes(checksum));
  }

  boolean isRefused(LinePlace place) {
    return scratch.get(place.key(Scratch.REFUSED)) != null;
  }

  /** Returns whether a replay has already delivered a line. */
  boolean isTaken(LinePlace place) {
    return scratch.get(place.key(Scratch.REPLAYED)) != null;
  }

  /**
   * Records that a replay has delivered a line.
   *
   * @param by the record of the replay
   * @param isQuarantineHeld whether the quarantine still has the records of that time
   */
  void take(
      ConsumerRecord<@Nullable String, byte @Nullable []> by,
      LinePlace place,
      int checksum,
      boolean isQuarantineHeld) {
    scratch.put(place.key(Scratch.REPLAYED), bytes(checksum));
    if (!takeMarker(place) && isQuarantineHeld) {
      differences.add(
          "%s was replayed by calls %d:%d, but the quarantine does not mark it as counted"
              .formatted(place, by.partition(), by.offset()));
    }
  }

  private static byte[] bytes(int checksum) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(checksum).array();
  }

  /**
   * Removes the marker of a line.
   *
   * @return whether there was one
   */
  boolean takeMarker(LinePlace place) {
    return scratch.take(place.key(Scratch.REPLAY_MARKER));
  }

  /**
   * Reports lines that were replayed without a refusal, and markers without a replay.
   *
   * @param begins the first offset of each partition of the calls topic
   * @param ends the offset after the last recounted record, by partition
   */
  void finish(Map<Integer, Long> begins, Map<Integer, Long> ends) {
    scratch.scan(
        Scratch.REPLAYED,
        (key, value) -> {
          LinePlace place = LinePlace.ofKey(key);
          byte[] refused = scratch.get(place.key(Scratch.REFUSED));
          if (refused != null && !Arrays.equals(refused, value)) {
            differences.add(place + " was replayed with other bytes");
          } else if (refused == null
              && place.offset() >= begins.getOrDefault(place.partition(), Long.MAX_VALUE)) {
            differences.add(place + " was replayed, but was not refused");
          }
          return true;
        });
    scratch.scan(
        Scratch.REPLAY_MARKER,
        (key, value) -> {
          ByteBuffer by = ByteBuffer.wrap(value);
          int partition = by.getInt();
          long offset = by.getLong();
          if (offset >= begins.getOrDefault(partition, 0L)
              && offset < ends.getOrDefault(partition, 0L)) {
            differences.add(
                "%s is marked as counted by a replay, but calls %d:%d is not its replay"
                    .formatted(LinePlace.ofKey(key), partition, offset));
          }
          return true;
        });
  }
}
