// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.e2e.sim.InvariantBroken.Invariant;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import org.jspecify.annotations.Nullable;

/**
 * Why a call may come after its window was closed as complete. There are two reasons: a clock was
 * set, or the call's journal was not known in the partition, or had said goodbye, when the call was
 * decided.
 */
final class Lateness {
  private final World world;
  private final int partition;

  Lateness(World world, int partition) {
    this.world = world;
    this.partition = partition;
  }

  /** Throws when there is no reason for the row. */
  void explain(UsageRow row) {
    if (world.wasAnyClockSet()) {
      return;
    }
    SimulatedLog log = world.kafka().calls(partition);
    for (long offset = row.count().firstOffset(); offset <= row.count().lastOffset(); offset++) {
      BatchHeader header = header(log.at(offset));
      if (header != null && wasKnownDuring(header, row, log)) {
        throw new InvariantBroken(
            Invariant.CLOSE,
            "calls of " + header + " come after their window was closed as complete: " + row);
      }
    }
  }

  private static boolean wasKnownDuring(BatchHeader late, UsageRow row, SimulatedLog log) {
    // a call may be decided at any time of its window
    long firstMillis = row.window().startEpochMillis() - Plan.GRACE_MILLIS;
    long lastMillis = row.window().endEpochMillis() + Plan.GRACE_MILLIS;
    boolean known = false;
    for (SimulatedLog.Entry entry : log.all()) {
      BatchHeader header = header(entry);
      if (header == null
          || !header.node().equals(late.node())
          || header.nodeEpoch() != late.nodeEpoch()) {
        continue;
      }
      if (entry.appendEpochMillis() < firstMillis) {
        known = !header.departing();
      } else if (entry.appendEpochMillis() < lastMillis && header.departing()) {
        return false;
      }
    }
    return known;
  }

  private static @Nullable BatchHeader header(SimulatedLog.Entry entry) {
    try {
      return BatchHeaderCodec.decode(entry.headers()::get);
    } catch (MalformedRecordException notABatch) {
      return null;
    }
  }
}
