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
 * The settled calls, the refused lines and the replayed lines of a partition. The counter needs
 * this state to match a settlement with its call. A line was counted if it has arrived and was not
 * refused, or if a replay counted it. Refused lines are few, so they are stored individually. Not
 * thread-safe.
 */
final class SettledCalls {
  /** Prefix of the key of a settled call; keys of calls begin with 0 or 1, by verdict. */
  private static final int SETTLED_CALL = 5;

  /** Prefix of the key of a refused line. */
  private static final int REFUSED_LINE = 3;

  /** Prefix of the key of a refused line that a replay has counted. */
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

  /**
   * Returns whether a replayed line was counted before. The result is NEW if the line must be
   * counted.
   */
  LineArrival judgeReplayed(UsagePosition line, long appendEpochMillis) {
    if (ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null) {
      return LineArrival.SEEN;
    }
    LineArrival known = nodes.judge(line);
    return known == LineArrival.SEEN && isRefused(line, appendEpochMillis)
        ? LineArrival.NEW
        : known;
  }

  /** Returns whether the line at a position was counted in an earlier record of this partition. */
  boolean isCounted(UsagePosition line, long appendEpochMillis) {
    return (nodes.judge(line) == LineArrival.SEEN && !isRefused(line, appendEpochMillis))
        || ids.find(key(REPLAYED_LINE, line), appendEpochMillis) != null;
  }

  /**
   * Returns whether an earlier line of the current record was counted. The watermark state does not
   * contain the lines of the current record yet.
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
      throw new IllegalStateException(
          "the stored position of a settlement is invalid: '" + known + "'");
    }
    return new Standing(Long.parseLong(known.substring(0, space)), position);
  }

  /** Records the settlement that is final for its call. */
  void settle(CallEvent settlement, Standing standing, long appendEpochMillis) {
    ids.remember(
        settledKey(settlement),
        standing.actualCost() + " " + standing.position(),
        appendEpochMillis);
  }

  /**
   * Returns the key of a settled call. Different calls with the same id have different keys, so
   * that each call can be settled.
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
