// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.wire.MalformedRecordException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the allowed and denied calls of a time range from the calls topic. Addresses and attributes
 * are not recorded, so policies that depend on them match no call. A batch that was written twice
 * is read twice.
 */
final class RecordedCalls {
  private static final long MICROS_PER_MILLI = 1_000;

  private final long fromMillis;
  private final long toMillis;
  private final Map<String, String> names = new HashMap<>();
  private final CallBatchReader reader = new CallBatchReader();
  private final List<SimulatedCall> calls = new ArrayList<>();
  private long unread;

  private RecordedCalls(long fromMillis, long toMillis) {
    this.fromMillis = fromMillis;
    this.toMillis = toMillis;
  }

  /**
   * Reads the whole topic, and keeps the calls of the range.
   *
   * @param from start of the range, by Redis' clock
   * @param to exclusive end of the range
   */
  public static RecordedCalls read(
      KafkaConnection kafka, Instant from, Instant to, ReadProgress progress) {
    RecordedCalls recorded = new RecordedCalls(from.toEpochMilli(), to.toEpochMilli());
    try (TopicReader reader = new TopicReader(kafka, Topics.CALLS)) {
      reader.read(
          Topics.CALLS.name(),
          record -> {
            byte[] value = record.value();
            if (value != null) {
              recorded.take(value);
            }
          },
          progress);
    }
    recorded.calls.sort(Comparator.comparingLong(SimulatedCall::atMicros));
    return recorded;
  }

  private void take(byte[] batch) {
    try {
      reader.read(batch);
    } catch (MalformedRecordException notABatch) {
      unread++;
    }
    for (int line = 1; line <= reader.count(); line++) {
      try {
        CallEvent call = reader.call(line);
        long at = call.decidedAtEpochMillis();
        if (at >= fromMillis && at < toMillis && call.settlement() == null) {
          calls.add(
              new SimulatedCall(
                  at * MICROS_PER_MILLI,
                  name(call.client()),
                  name(call.endpoint()),
                  name(call.meter()),
                  call.cost(),
                  null));
        }
      } catch (MalformedRecordException notOurs) {
        unread++;
      }
    }
  }

  /** Returns the calls in order of time. */
  public List<SimulatedCall> calls() {
    return List.copyOf(calls);
  }

  /** Returns a shared instance of a name, because the topic repeats names. */
  private String name(String text) {
    return names.computeIfAbsent(text, it -> it);
  }

  /** Returns the number of lines, and of values, that cannot be read. */
  public long unread() {
    return unread;
  }
}
