// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.watermark.Arrival;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * The record of which calls of a partition were settled, and of which lines were refused or
 * replayed, so that a settlement can be matched with its call. A line counts as counted if it has
 * arrived in its journal and was not refused, or was counted by a replay; refused lines are few and
 * are remembered one by one. Not thread-safe.
 */
final class SettledCalls {
  /** Begins the key of a settlement as an older version wrote it: for all calls under one id. */
  private static final int SETTLED_ID = 2;

  /** Begins the key of a settled call; 0 and 1 begin those of calls, by their verdict. */
  private static final int SETTLED_CALL = 5;

  /** Begins the key of the position of a line that was refused. */
  private static final int REFUSED_LINE = 3;

  /** Begins the key of the position of a line that was refused and then counted by a replay. */
  private static final int REPLAYED_LINE = 4;

  private final SeenIds ids;
  private final NodeWatermarks nodes;
  private final Packer packer = new Packer();

  SettledCalls(SeenIds ids, NodeWatermarks nodes) {
    this.ids = ids;
    this.nodes = nodes;
  }

  /** Notes that a line was not counted. */
  void refused(UsagePosition line, long appendEpochMillis) {
    ids.remember(key(REFUSED_LINE, line), "", appendEpochMillis);
  }

  /** Notes that a line that was refused before has been counted. */
  void replayed(UsagePosition line, long appendEpochMillis) {
    ids.remember(key(REPLAYED_LINE, line), "", appendEpochMillis);
  }

  /** Returns what is known of a line that a replay brings again; NEW if it is to be counted. */
  Arrival judgeReplayed(UsagePosition line, long appendEpochMillis) {
    if (ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null) {
      return Arrival.SEEN;
    }
    Arrival known = nodes.judge(line);
    return known == Arrival.SEEN && isRefused(line, appendEpochMillis) ? Arrival.NEW : known;
  }

  /** Returns whether the line at a position of this partition was counted in an earlier record. */
  boolean isCounted(UsagePosition line, long appendEpochMillis) {
    return (nodes.judge(line) == Arrival.SEEN && !isRefused(line, appendEpochMillis))
        || ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null;
  }

  /**
   * Returns whether a line was counted that has been taken in the current record, whose lines are
   * noted in their journal only when all are taken.
   */
  boolean isCountedNow(UsagePosition line, long appendEpochMillis) {
    return nodes.judge(line) == Arrival.NEW && !isRefused(line, appendEpochMillis);
  }

  private boolean isRefused(UsagePosition line, long appendEpochMillis) {
    return ids.find(key(REFUSED_LINE, line), appendEpochMillis) != null;
  }

  /** Returns whether the call of a settlement was settled before. */
  boolean isSettled(CallEvent settlement, long appendEpochMillis) {
    return known(settlement, appendEpochMillis) != null;
  }

  /** Returns the settlement that stands; null if there is none, or an older version counted it. */
  @Nullable Standing standing(CallEvent settlement, long appendEpochMillis) {
    String known = known(settlement, appendEpochMillis);
    int space = known == null ? -1 : known.indexOf(' ');
    if (known == null || space < 0) {
      return null;
    }
    UsagePosition position = UsagePosition.parse(known.substring(space + 1));
    if (position == null) {
      throw new IllegalStateException("not the place of a settlement: '" + known + "'");
    }
    return new Standing(Long.parseLong(known.substring(0, space)), position);
  }

  /** Notes which settlement stands for its call. */
  void settle(CallEvent settlement, Standing standing, long appendEpochMillis) {
    ids.remember(
        settledKey(settlement),
        standing.actualCost() + " " + standing.position(),
        appendEpochMillis);
  }

  private @Nullable String known(CallEvent call, long appendEpochMillis) {
    String known = ids.find(settledKey(call), appendEpochMillis);
    return known != null
        ? known
        : ids.find(
            packer.reset().integer(SETTLED_ID).text(call.client()).text(call.id()).toBytes(),
            appendEpochMillis);
  }

  /** Different calls under one id have different keys, so that each can be settled. */
  private byte[] settledKey(CallEvent call) {
    return packer
        .reset()
        .integer(SETTLED_CALL)
        .text(call.client())
        .text(call.id())
        .text(call.fingerprint())
        .toBytes();
  }

  private byte[] key(int kind, UsagePosition line) {
    return packer
        .reset()
        .integer(kind)
        .text(line.node())
        .integer(line.nodeEpoch())
        .integer(line.line())
        .toBytes();
  }
}
