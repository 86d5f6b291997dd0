// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.util.HashSet;
import java.util.Set;

/**
 * Explains why a call may arrive after its window was closed as complete. There are three possible
 * reasons. First, a clock was set. Second, at the time of the decision the partition did not know
 * the call's journal, or had already received the final heartbeat of this journal. Third, the
 * response to the caller said that the call was not recorded.
 */
final class Lateness {
  private final World world;
  private final int partition;

  Lateness(World world, int partition) {
    this.world = world;
    this.partition = partition;
  }

  /**
   * Checks that a late row has one of these reasons.
   *
   * @throws InvariantBroken if there is no reason
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
            "calls of " + header + " arrived after their window was closed as complete: " + row);
      }
    }
  }

  /**
   * Returns whether the record contains a call of the window, and the caller received a verdict on
   * this call. Calls without a verdict do not count: a node that cannot record a call refuses the
   * call, but the record may nevertheless arrive.
   */
  private boolean holdsAnsweredCallOf(UsageRow row, SimulatedLog.Entry entry) {
    return LogLines.of(partition, entry).stream()
        .filter(line -> line.call().decidedAtEpochMillis() >= row.window().startEpochMillis())
        .filter(line -> line.call().decidedAtEpochMillis() < row.window().endEpochMillis())
        .anyMatch(line -> world.calls().wasAnswered(line.position()));
  }

  /**
   * Returns whether the partition knew the journal of the batch while the window was open. A final
   * heartbeat may be delayed for long, and arrive after its node has started again.
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
        continue; // a repeated batch has no new information about its node
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
