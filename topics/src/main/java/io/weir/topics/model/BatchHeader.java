// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * The headers of one sealed batch. A node seals its calls of one partition into batches. The
 * boundaries of a sealed batch never change, so that a retry or a replay repeats it byte for byte.
 * Immutable.
 *
 * <p>Node, epoch and position identify a line. Each opening of a journal begins a new epoch. A
 * journal that has lost its newest lines (a restored disk, a power failure) therefore never assigns
 * a position to another line. It may then divide its old lines into batches differently.
 *
 * <p>An empty batch (count 0) is a heartbeat. It has no own number: it repeats the number of the
 * last batch sealed for the partition, 0 before the first.
 *
 * @param node the ingest node's name, 1 to 64 of {@code [A-Za-z0-9._-]}
 * @param nodeEpoch the time of the opening of the node's journal, in epoch milliseconds; a later
 *     opening has a greater epoch
 * @param batchSequence number of the batch among those of the node's journal and the partition,
 *     from 1. Informative only, since a journal that has lost its newest lines reuses numbers
 * @param count lines in the batch
 * @param lowWatermarkEpochMillis the low watermark, exclusive: every call that this node decided
 *     before this time for this partition is in this batch or an earlier one. A call decided at
 *     exactly this time may still follow
 * @param linesBefore number of lines of the node's journal and the partition in earlier batches;
 *     the n-th line of the batch therefore has the position linesBefore + n
 * @param linesBeforeEpoch number of these lines that belong to earlier epochs; at most linesBefore
 * @param departing true on the final heartbeat of an epoch, when the node stopped cleanly or has
 *     opened its journal again. The node has no unsent line of the epoch, and sends no further low
 *     watermark of it
 */
public record BatchHeader(
    String node,
    long nodeEpoch,
    long batchSequence,
    int count,
    long lowWatermarkEpochMillis,
    long linesBefore,
    long linesBeforeEpoch,
    boolean departing) {

  /** Maximum number of lines in one batch; bounds the result of one poll of a consumer. */
  public static final int MAX_COUNT = 10_000;

  private static final int MAX_NODE_CHARS = 64;

  public BatchHeader {
    if (!isNodeName(node)) {
      throw new IllegalArgumentException("node must be 1 to 64 of A-Za-z0-9._-, is '" + node + "'");
    }
    Numbers.require("node_epoch", nodeEpoch, 0);
    if (count < 0 || count > MAX_COUNT) {
      throw new IllegalArgumentException("count must be 0 to " + MAX_COUNT + ", is " + count);
    }
    Numbers.require("batch_seq", batchSequence, count == 0 ? 0 : 1);
    Numbers.require("low_watermark_ms", lowWatermarkEpochMillis, 0);
    Numbers.require("lines_before", linesBefore, 0);
    Numbers.require("lines_before_epoch", linesBeforeEpoch, 0, linesBefore);
  }

  /** Creates the header of a batch from a journal that was opened once. */
  public BatchHeader(
      String node,
      long nodeEpoch,
      long batchSequence,
      int count,
      long lowWatermarkEpochMillis,
      long linesBefore,
      boolean departing) {
    this(node, nodeEpoch, batchSequence, count, lowWatermarkEpochMillis, linesBefore, 0, departing);
  }

  /** Returns the position of the batch's last line. */
  public long linesEnd() {
    return linesBefore + count;
  }

  /** Returns whether the batch is empty and only carries the low watermark. */
  public boolean isHeartbeat() {
    return count == 0;
  }

  /** Returns whether a text is valid as the name of an ingest node. */
  public static boolean isNodeName(String text) {
    if (text.isEmpty() || text.length() > MAX_NODE_CHARS) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      boolean other = (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
      if (!letter && !other) {
        return false;
      }
    }
    return true;
  }
}
