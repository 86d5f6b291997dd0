// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.UnreadableException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The headers of a replay batch of {@code weir.calls.v1}, read by the rules in docs/topics.
 *
 * @param partition the partition in which the record was refused
 * @param offset offset of the refused record in that partition
 * @param firstLine number, in that record, of the batch's first line; 0 if the whole record is
 *     replayed
 */
record Replayed(int partition, long offset, int firstLine) {
  private static final Pattern LINE = Pattern.compile("[1-9]\\d{0,8}");

  /** Reads the headers; returns null if the record is not a replay. */
  static @Nullable Replayed of(ConsumerRecord<@Nullable String, byte @Nullable []> record)
      throws UnreadableException {
    String of = CallBatch.text(record, "replay_of");
    if (of == null) {
      return null;
    }
    LinePlace place = LinePlace.ofHeader(of);
    String line = CallBatch.text(record, "replay_line");
    if (place == null || (line != null && !LINE.matcher(line).matches())) {
      throw new UnreadableException("headers replay_of, replay_line are malformed");
    }
    return new Replayed(
        place.partition(), place.offset(), line == null ? 0 : Integer.parseInt(line));
  }

  /**
   * Returns the place at which a line was refused.
   *
   * @param line number of the line in the replay batch, from 1; 0 for the whole record
   */
  LinePlace place(int line) {
    return new LinePlace(partition, offset, line == 0 ? 0 : firstLine + line - 1);
  }
}
