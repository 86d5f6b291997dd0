// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.util.HashSet;
import java.util.Set;

/**
 * Explains why a call may arrive after its window was closed as complete. There are three reasons:
 * a clock was set; the call's journal was not known in the partition when the call was decided, or
 * its goodbye arrived there before the window was closed; or its caller was answered that it is not
 * recorded.
 */
final class Lateness {
  private final World world;
  private final int partition;

  Lateness(World world, int partition) {
    this.world = world;
    this.partition = partition;
  }

  /**
   * Checks that there is a reason for a row.
   *
   * @throws InvariantBroken if there is none
   */
  void explain(UsageRow row, CloseRow close) {
    if (world.wasAnyClockSet()) {
      return;
    }
    SimulatedLog log = world.kafka().calls(partition);
    for (long offset = row.count().firstOffset(); offset <= row.count().lastOffset(); offset++) {
      SimulatedLog.Entry late = log.at(offset);
      BatchHeader header = LogLines.header(late);
      if (header != null
          && wasKnownDuring(header, row, close, log)
          && holdsAnsweredCallOf(row, late)) {
        throw new InvariantBroken(
            Invariant.CLOSE,
            "calls of " + header + " come after their window was closed as complete: " + row);
      }
    }
  }

  /**
   * Returns whether the record holds a call of the window that was answered as recorded. A call
   * refused because it could not be recorded may nevertheless be recorded, and arrive.
   */
  private boolean holdsAnsweredCallOf(UsageRow row, SimulatedLog.Entry entry) {
    return LogLines.of(partition, entry).stream()
        .filter(line -> line.call().decidedAtEpochMillis() >= row.window().startEpochMillis())
        .filter(line -> line.call().decidedAtEpochMillis() < row.window().endEpochMillis())
        .anyMatch(line -> world.calls().wasAnswered(line.position()));
  }

  /**
   * Returns whether the journal of the batch was known in the partition while the window was open.
   * A goodbye may be in flight for long, and arrive when its node has started again.
   */
  private static boolean wasKnownDuring(
      BatchHeader late, UsageRow row, CloseRow close, SimulatedLog log) {
    // a call may be decided at any time of its window
    long firstMillis = row.window().startEpochMillis() - Plan.GRACE_MILLIS;
    long lastMillis = close.emittedAtEpochMillis();
    boolean known = false;
    Set<Long> batches = new HashSet<>();
    for (SimulatedLog.Entry entry : log.all()) {
      BatchHeader header = LogLines.header(entry);
      if (header == null
          || !header.node().equals(late.node())
          || header.nodeEpoch() != late.nodeEpoch()) {
        continue;
      }
      if (!header.isHeartbeat() && !batches.add(header.linesEnd())) {
        continue; // a repeated batch tells nothing new about its node
      }
      if (entry.appendEpochMillis() < firstMillis) {
        known = !header.departing();
      } else if (entry.appendEpochMillis() <= lastMillis && header.departing()) {
        return false;
      }
    }
    return known;
  }
}
