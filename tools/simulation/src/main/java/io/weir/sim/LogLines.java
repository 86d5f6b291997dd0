// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.LineDigest;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The lines of a partition of the calls topic. This class reads lines in the simplest way, and
 * shares no parser with the code under test.
 */
final class LogLines {
  private LogLines() {}

  /**
   * One line.
   *
   * @param entry the record that contains the line
   * @param position position of the line in its journal
   * @param text the line as recorded
   * @param call the call in the line
   */
  record Line(SimulatedLog.Entry entry, UsagePosition position, String text, CallEvent call) {
    /** Returns the number that the line adds to {@code events_digest}. */
    long digest() {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      return BatchHeaderCodec.digestsLines(entry.headers()::get)
          ? LineDigest.of(bytes, 0, bytes.length)
          : call.digest();
    }
  }

  /**
   * Returns all lines of all batches, including repeated batches. Skips records that are not
   * batches.
   */
  static List<Line> of(int partition, SimulatedLog log) {
    List<Line> lines = new ArrayList<>();
    for (SimulatedLog.Entry entry : log.all()) {
      lines.addAll(of(partition, entry));
    }
    return lines;
  }

  /** Returns the lines of a record; empty if the record is not a batch. */
  static List<Line> of(int partition, SimulatedLog.Entry entry) {
    BatchHeader header = header(entry);
    List<String> texts = new String(entry.value(), StandardCharsets.UTF_8).lines().toList();
    if (header == null || header.isHeartbeat() || header.count() != texts.size()) {
      return List.of();
    }
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < texts.size(); i++) {
      lines.add(line(partition, entry, header, header.linesBefore() + i + 1, texts.get(i)));
    }
    return lines;
  }

  /** Returns the header of a batch; null if the record is not a batch. */
  static @Nullable BatchHeader header(SimulatedLog.Entry entry) {
    try {
      return BatchHeaderCodec.decode(entry.headers()::get);
    } catch (MalformedRecordException notABatch) {
      return null;
    }
  }

  private static Line line(
      int partition, SimulatedLog.Entry entry, BatchHeader header, long number, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    try {
      return new Line(
          entry,
          new UsagePosition(partition, header.node(), header.nodeEpoch(), number),
          text,
          CallLineCodec.decode(bytes, 0, bytes.length));
    } catch (MalformedRecordException malformed) {
      throw new InvariantBroken(
          InvariantBroken.Invariant.BILLED, "a line of a batch cannot be read: " + malformed);
    }
  }
}
