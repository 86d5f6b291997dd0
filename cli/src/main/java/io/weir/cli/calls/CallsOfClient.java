// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.calls;

import io.weir.cli.records.TopicReader;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.CallEvent;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/** Finds the calls and settlements of one client in records of the calls topic. Not thread-safe. */
final class CallsOfClient implements TopicReader.Visitor {
  private final Wanted wanted;
  private final Consumer<CallEvent> found;
  private final Consumer<String> problems;
  private final CallBatchReader reader = new CallBatchReader();
  private boolean hasSkipped;

  /**
   * The wanted calls.
   *
   * @param id the wanted id; null for all ids
   * @param fromEpochMillis first time of decision
   * @param toEpochMillis time of decision before which the range ends
   */
  record Wanted(String client, @Nullable String id, long fromEpochMillis, long toEpochMillis) {
    private boolean contains(CallEvent call) {
      long decidedAt = call.decidedAtEpochMillis();
      return decidedAt >= fromEpochMillis && decidedAt < toEpochMillis;
    }
  }

  /**
   * Creates an instance.
   *
   * @param found receives the wanted calls and settlements
   * @param problems receives a sentence for each record or line that cannot be read
   */
  CallsOfClient(Wanted wanted, Consumer<CallEvent> found, Consumer<String> problems) {
    this.wanted = wanted;
    this.found = found;
    this.problems = problems;
  }

  @Override
  public void visit(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (value == null || CacheLossCodec.TYPE.equals(type)) {
      return;
    }
    try {
      reader.read(value);
    } catch (MalformedRecordException notABatch) {
      skip(record, "", notABatch);
    }
    for (int line = 1; line <= reader.count(); line++) {
      if (wanted.client.equals(reader.client(line))
          && (wanted.id == null || wanted.id.equals(reader.id(line)))) {
        visitLine(record, line);
      }
    }
  }

  private void visitLine(ConsumerRecord<@Nullable String, byte @Nullable []> record, int line) {
    try {
      CallEvent call = reader.call(line);
      if (wanted.contains(call)) {
        found.accept(call);
      }
    } catch (MalformedRecordException malformed) {
      skip(record, "line " + line + " of ", malformed);
    }
  }

  private void skip(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      String line,
      MalformedRecordException why) {
    hasSkipped = true;
    problems.accept(
        "skipped %sthe record at offset %d of partition %d of %s, which cannot be read: %s"
            .formatted(
                line, record.offset(), record.partition(), record.topic(), why.getMessage()));
  }

  /** Returns whether a record or line was skipped because it cannot be read. */
  boolean hasSkipped() {
    return hasSkipped;
  }
}
