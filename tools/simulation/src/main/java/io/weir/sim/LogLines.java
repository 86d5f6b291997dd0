// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The lines of a partition of the calls topic. */
final class LogLines {
  private LogLines() {}

  /**
   * One line.
   *
   * @param entry the record that contains the line
   * @param position position of the line in its journal
   * @param call the call in the line
   * @param digest the number that the line adds to {@code events_digest}
   */
  record Line(SimulatedLog.Entry entry, UsagePosition position, CallEvent call, long digest) {
    /** Returns whether another line has the same members. */
    boolean isSame(Line other) {
      return digest == other.digest && call.equals(other.call);
    }
  }

  /**
   * Returns all lines of all batches, including repeated batches. Skips records that are not
   * batches.
   */
  static List<Line> of(int partition, SimulatedLog log) {
    CallBatchReader reader = new CallBatchReader();
    List<Line> lines = new ArrayList<>();
    for (SimulatedLog.Entry entry : log.all()) {
      lines.addAll(of(partition, entry, reader));
    }
    return lines;
  }

  /** Returns the lines of a record; empty if the record is not a batch. */
  static List<Line> of(int partition, SimulatedLog.Entry entry) {
    return of(partition, entry, new CallBatchReader());
  }

  private static List<Line> of(int partition, SimulatedLog.Entry entry, CallBatchReader reader) {
    BatchHeader header = header(entry);
    if (header == null || header.isHeartbeat() || !isBatch(entry, header, reader)) {
      return List.of();
    }
    List<Line> lines = new ArrayList<>();
    for (int line = 1; line <= header.count(); line++) {
      lines.add(
          new Line(
              entry,
              new UsagePosition(
                  partition, header.node(), header.nodeEpoch(), header.linesBefore() + line),
              call(reader, line),
              reader.digest(line)));
    }
    return lines;
  }

  private static boolean isBatch(
      SimulatedLog.Entry entry, BatchHeader header, CallBatchReader reader) {
    try {
      return reader.read(entry.value()) == header.count();
    } catch (MalformedRecordException notABatch) {
      return false;
    }
  }

  /** Returns the header of a batch; null if the record is not a batch. */
  static @Nullable BatchHeader header(SimulatedLog.Entry entry) {
    try {
      return BatchHeaderCodec.decode(entry.headers()::get);
    } catch (MalformedRecordException notABatch) {
      return null;
    }
  }

  private static CallEvent call(CallBatchReader reader, int line) {
    try {
      return reader.call(line);
    } catch (MalformedRecordException malformed) {
      throw new InvariantBroken(
          InvariantBroken.Invariant.BILLED, "a line of a batch cannot be read: " + malformed);
    }
  }
}
