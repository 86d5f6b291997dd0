// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/**
 * The headers of a record of {@code weir.calls.v1}, read by the rules in docs/topics.
 *
 * @param node the ingest node
 * @param epoch epoch of the node's journal, which identifies one opening of the journal
 * @param count number of lines; 0 for a heartbeat
 * @param lowWatermarkEpochMillis low watermark of the batch
 * @param linesBefore position of the line before the batch's first line
 * @param linesBeforeEpoch number of lines in earlier epochs, included in {@code linesBefore}
 * @param departing whether this is a final heartbeat, which states that the epoch is complete
 */
public record CallBatch(
    String node,
    long epoch,
    int count,
    long lowWatermarkEpochMillis,
    long linesBefore,
    long linesBeforeEpoch,
    boolean departing) {
  private static final Pattern NODE = Pattern.compile("[A-Za-z0-9._-]{1,64}");

  /** ASCII digits, without a plus sign. */
  private static final Pattern INTEGER = Pattern.compile("-?\\d{1,19}");

  /** Maximum number of lines of a batch. */
  private static final int MAX_LINES = 10_000;

  /** Returns the position of the last line. */
  public long lastPosition() {
    return linesBefore + count;
  }

  /**
   * Reads the headers of a batch or heartbeat.
   *
   * @throws UnreadableException if a header breaks a rule in docs/topics
   */
  public static CallBatch of(ConsumerRecord<@Nullable String, byte @Nullable []> record)
      throws UnreadableException {
    if (!"calls".equals(text(record, "weir-type"))) {
      throw new UnreadableException("header weir-type is not 'calls'");
    }
    String node = text(record, "node");
    if (node == null || !NODE.matcher(node).matches()) {
      throw new UnreadableException("header node is not a valid node name");
    }
    int count = (int) number(record, "count", 0, MAX_LINES);
    number(record, "batch_seq", count == 0 ? 0 : 1, CallLine.MAX_NUMBER);
    long linesBefore = number(record, "lines_before", 0, CallLine.MAX_NUMBER);
    return new CallBatch(
        node,
        number(record, "node_epoch", 0, CallLine.MAX_NUMBER),
        count,
        number(record, "low_watermark_ms", 0, CallLine.MAX_NUMBER),
        linesBefore,
        text(record, "lines_before_epoch") == null
            ? 0
            : number(record, "lines_before_epoch", 0, linesBefore),
        "true".equals(text(record, "departing")));
  }

  /** Returns the text of a header, or null if it is absent. */
  public static @Nullable String text(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, String name) {
    Header header = record.headers().lastHeader(name);
    return header == null || header.value() == null
        ? null
        : new String(header.value(), StandardCharsets.UTF_8);
  }

  private static long number(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      String name,
      long least,
      long most)
      throws UnreadableException {
    String text = text(record, name);
    try {
      if (text == null || !INTEGER.matcher(text).matches()) {
        throw new UnreadableException("header " + name + " is not an integer");
      }
      long number = Long.parseLong(text);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException notANumber) {
      throw new UnreadableException("header " + name + " is not an integer", notANumber);
    }
    throw new UnreadableException(
        "header " + name + " must be from " + least + " to " + most + ", but is " + text);
  }
}
