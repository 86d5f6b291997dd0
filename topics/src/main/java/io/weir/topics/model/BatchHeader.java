// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * The header of one sealed batch. A node groups its calls of one partition into batches and seals
 * each batch. A sealed batch never changes, so a retry or a replay sends the same bytes. Immutable.
 *
 * <p>Node, epoch and position identify a line. Each opening of a journal begins a new epoch. A
 * journal may lose its newest lines, for example in a power failure. Because of the new epoch, the
 * journal does not give the positions of the lost lines to other lines. After the loss, the journal
 * may divide its old lines into other batches.
 *
 * <p>An empty batch (count 0) is a heartbeat. A heartbeat has the number of the last batch that was
 * sealed for the partition, or 0 before the first batch.
 *
 * @param node the ingest node's name, 1 to 64 of {@code [A-Za-z0-9._-]}
 * @param nodeEpoch when the node opened its journal, in epoch milliseconds; a later opening has a
 *     greater epoch
 * @param batchSequence number of the batch among the batches of the journal for the partition, from
 *     1. The batch number is only informative, because a journal that has lost its newest lines
 *     uses batch numbers again
 * @param count number of lines in the batch
 * @param lowWatermarkEpochMillis the low watermark. Every call that this node decided for this
 *     partition before the low watermark is in this batch or an earlier batch. A later batch may
 *     contain a call that this node decided exactly at the low watermark
 * @param linesBefore number of the journal's lines in earlier batches of the partition. The n-th
 *     line of the batch has the position linesBefore + n
 * @param linesBeforeEpoch number of lines of earlier epochs in earlier batches; at most linesBefore
 * @param departing true on the final heartbeat of an epoch, which the node sends when it stops or
 *     has opened its journal again. The node has sent all lines of the epoch, and sends no further
 *     low watermark of the epoch
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

  /** Maximum number of lines in one batch. The maximum bounds the result of a consumer's poll. */
  public static final int MAX_COUNT = 10_000;

  private static final int MAX_NODE_CHARS = 64;

  public BatchHeader {
    if (!isNodeName(node)) {
      throw new IllegalArgumentException(
          "node must have 1 to 64 characters of A-Za-z0-9._-, but is '" + node + "'");
    }
    Numbers.require("node_epoch", nodeEpoch, 0);
    if (count < 0 || count > MAX_COUNT) {
      throw new IllegalArgumentException(
          "count must be between 0 and " + MAX_COUNT + ", but is " + count);
    }
    Numbers.require("batch_seq", batchSequence, count == 0 ? 0 : 1);
    Numbers.require("low_watermark_ms", lowWatermarkEpochMillis, 0);
    Numbers.require("lines_before", linesBefore, 0);
    Numbers.require("lines_before_epoch", linesBeforeEpoch, 0, linesBefore);
  }

  /** Creates the header of a batch from a journal that was opened only once. */
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

  /** Returns whether the batch is a heartbeat, which has no lines. */
  public boolean isHeartbeat() {
    return count == 0;
  }

  /** Returns whether a text is a valid name of an ingest node. */
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
