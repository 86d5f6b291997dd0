// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.watermark.LineArrival;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsagePosition;
import org.jspecify.annotations.Nullable;

/**
 * Remembers the settled calls and the refused and replayed lines of a partition, so that a
 * settlement can be matched with its call. A line is counted if it has arrived in its journal and
 * was not refused, or if a replay counted it. Refused lines are few and stored individually. Not
 * thread-safe.
 */
final class SettledCalls {
  /** Prefix of the key of a settled call; keys of calls begin with 0 or 1, by verdict. */
  private static final int SETTLED_CALL = 5;

  /** Prefix of the key of a refused line's position. */
  private static final int REFUSED_LINE = 3;

  /** Prefix of the key of the position of a refused line that a replay counted. */
  private static final int REPLAYED_LINE = 4;

  private final SeenIds ids;
  private final NodeWatermarks nodes;
  private final Packer packer = new Packer();

  SettledCalls(SeenIds ids, NodeWatermarks nodes) {
    this.ids = ids;
    this.nodes = nodes;
  }

  /** Records that a line was refused. */
  void refused(UsagePosition line, long appendEpochMillis) {
    ids.remember(key(REFUSED_LINE, line), "", appendEpochMillis);
  }

  /** Records that a replay counted a refused line. */
  void replayed(UsagePosition line, long appendEpochMillis) {
    ids.remember(key(REPLAYED_LINE, line), "", appendEpochMillis);
  }

  /** Returns whether a replayed line was counted before; NEW if it must be counted. */
  LineArrival judgeReplayed(UsagePosition line, long appendEpochMillis) {
    if (ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null) {
      return LineArrival.SEEN;
    }
    LineArrival known = nodes.judge(line);
    return known == LineArrival.SEEN && isRefused(line, appendEpochMillis)
        ? LineArrival.NEW
        : known;
  }

  /** Returns whether the line at a position of this partition was counted in an earlier record. */
  boolean isCounted(UsagePosition line, long appendEpochMillis) {
    return (nodes.judge(line) == LineArrival.SEEN && !isRefused(line, appendEpochMillis))
        || ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null;
  }

  /**
   * Returns whether a line of the current record was counted. The journal records the arrival of a
   * record's lines only after all are counted.
   */
  boolean isCountedNow(UsagePosition line, long appendEpochMillis) {
    return nodes.judge(line) == LineArrival.NEW && !isRefused(line, appendEpochMillis);
  }

  private boolean isRefused(UsagePosition line, long appendEpochMillis) {
    return ids.find(key(REFUSED_LINE, line), appendEpochMillis) != null;
  }

  /** Returns whether the call of a settlement was settled before. */
  boolean isSettled(CallEvent settlement, long appendEpochMillis) {
    return ids.find(settledKey(settlement), appendEpochMillis) != null;
  }

  /** Returns the settlement that counts for a call; null if there is none. */
  @Nullable Standing standing(CallEvent settlement, long appendEpochMillis) {
    String known = ids.find(settledKey(settlement), appendEpochMillis);
    if (known == null) {
      return null;
    }
    int space = known.indexOf(' ');
    UsagePosition position = UsagePosition.parse(known.substring(space + 1));
    if (position == null) {
      throw new IllegalStateException("invalid stored position of a settlement: '" + known + "'");
    }
    return new Standing(Long.parseLong(known.substring(0, space)), position);
  }

  /** Records the settlement that counts for its call. */
  void settle(CallEvent settlement, Standing standing, long appendEpochMillis) {
    ids.remember(
        settledKey(settlement),
        standing.actualCost() + " " + standing.position(),
        appendEpochMillis);
  }

  /**
   * Returns the key of a settled call. Different calls with one id have different keys, so that
   * each can be settled.
   */
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
