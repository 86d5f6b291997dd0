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
 * quarantine marks as counted. Line 0 stands for a record that is replayed as a whole. Stored on
 * disk. Not thread-safe.
 */
final class Replays {
  private static final Pattern RANGE = Pattern.compile("(\\d{1,9})(?:-(\\d{1,9}))?");
  private static final String WHOLE = "record";

  private final VerifyData data;

  Replays(VerifyData data) {
    this.data = data;
  }

  /** Returns the newest known place of a refused line. */
  LinePlace newestPlace(LinePlace refused) {
    LinePlace moved = data.scratch.getObject(refused.key(Scratch.MOVED), LinePlace.class);
    return moved == null ? refused : moved;
  }

  void moved(LinePlace refused, LinePlace to) {
    data.scratch.putObject(refused.key(Scratch.MOVED), to);
  }

  /**
   * Returns whether a record of the quarantine is a marker, which states that refused lines were
   * counted.
   */
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
      data.differences.add(
          "quarantine record %d@%d does not identify the replayed record"
              .formatted(record.partition(), record.offset()));
      return;
    }
    if (lines.equals(WHOLE)) {
      putMarker(refused, source);
    }
    for (Matcher range = RANGE.matcher(lines); range.find(); ) {
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      for (int line = first; line <= last; line++) {
        putMarker(refused.line(line), source);
      }
    }
  }

  private void putMarker(LinePlace place, LinePlace replay) {
    data.scratch.putObject(place.key(Scratch.REPLAY_MARKER), replay);
  }

  void refused(LinePlace place, int checksum) {
    data.scratch.put(place.key(Scratch.REFUSED), bytes(checksum));
  }

  boolean isRefused(LinePlace place) {
    return data.scratch.get(place.key(Scratch.REFUSED)) != null;
  }

  /** Returns whether a replay has already delivered a line. */
  boolean isTaken(LinePlace place) {
    return data.scratch.get(place.key(Scratch.REPLAYED)) != null;
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
    data.scratch.put(place.key(Scratch.REPLAYED), bytes(checksum));
    if (!takeMarker(place) && isQuarantineHeld) {
      data.differences.add(
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
   * @return whether there was a marker
   */
  boolean takeMarker(LinePlace place) {
    return data.scratch.take(place.key(Scratch.REPLAY_MARKER));
  }

  /** Reports lines that were replayed without a refusal, and markers without a replay. */
  void finish(Map<Integer, Long> begins, Map<Integer, Long> ends) {
    data.scratch.scan(
        Scratch.REPLAYED,
        (key, value) -> {
          LinePlace place = LinePlace.ofKey(key);
          byte[] refused = data.scratch.get(place.key(Scratch.REFUSED));
          if (refused != null && !Arrays.equals(refused, value)) {
            data.differences.add(place + " was replayed with other bytes");
          } else if (refused == null
              && place.offset() >= begins.getOrDefault(place.partition(), Long.MAX_VALUE)) {
            data.differences.add(place + " was replayed, but was not refused");
          }
          return true;
        });
    data.scratch.scan(
        Scratch.REPLAY_MARKER,
        (key, value) -> {
          LinePlace by = Scratch.object(value, LinePlace.class);
          if (by.isIn(begins, ends)) {
            data.differences.add(
                "%s is marked as counted by a replay, but %s is not its replay"
                    .formatted(LinePlace.ofKey(key), by));
          }
          return true;
        });
  }
}
