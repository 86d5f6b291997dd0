// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class StateRecordsTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final StateRecords records = new StateRecords(registry);

  private static UsageState row(String client) {
    return new UsageState(
        new UsageKey(client, "calls", "GET /"),
        new UsageWindow(0, 60_000),
        UsageState.Status.RUNNING,
        0,
        UsageCount.ZERO,
        false);
  }

  private static ConsumerRecord<byte[], byte[]> record(
      long offset, @Nullable String kind, @Nullable String key, byte @Nullable [] value) {
    ConsumerRecord<byte[], byte[]> record =
        new ConsumerRecord<>("topic", 0, offset, key == null ? null : bytes(key), value);
    if (kind != null) {
      record.headers().add(BatchHeaderCodec.TYPE_HEADER, bytes(kind));
    }
    return record;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private double skipped(String reason) {
    return registry.get("weir.state.records.skipped").tag("reason", reason).counter().count();
  }

  /** Two changes of a key would be compared with the same old value, and be summed twice. */
  @Test
  void rowThatComesTwiceInAPoll_isTakenOnce_asItWasLast() {
    String key = UsageStateCodec.key(row("a"));
    byte[] value = UsageStateCodec.encode(row("a"));

    List<StateRecords.Change> changes =
        List.copyOf(
            records.changes(
                List.of(record(1, "usage", key, bytes("?")), record(2, "usage", key, value))));

    assertEquals(1, changes.size());
    assertArrayEquals(value, changes.get(0).value());
    assertEquals(0, skipped("malformed"));
  }

  @Test
  void unknownKind_isSkipped_unlessItReplacesARow() {
    String key = UsageStateCodec.key(row("a"));
    byte[] value = UsageStateCodec.encode(row("a"));

    List<StateRecords.Change> changes =
        List.copyOf(
            records.changes(
                List.of(
                    record(1, "future", "@future/1", bytes("?")),
                    record(2, null, "foreign", bytes("?")),
                    record(3, "future", "@progress/00000", null),
                    record(4, "future", key, value))));

    assertEquals(1, changes.size());
    assertArrayEquals(StateRecords.UNREADABLE, changes.get(0).value());
    assertEquals(3, skipped("unknown-kind"));
    assertEquals(1, skipped("malformed"));
  }

  @Test
  void malformedRecord_isSkipped_andMakesItsRowUnreadable() {
    String key = UsageStateCodec.key(row("a"));

    List<StateRecords.Change> changes =
        List.copyOf(
            records.changes(
                List.of(
                    record(1, "usage", null, bytes("?")),
                    record(2, "usage", "foreign", UsageStateCodec.encode(row("a"))),
                    record(3, "usage", key, UsageStateCodec.encode(row("b"))),
                    record(4, "progress", "@progress/00000", bytes("?")))));

    assertEquals(1, changes.size());
    assertArrayEquals(bytes(key), changes.get(0).key());
    assertArrayEquals(StateRecords.UNREADABLE, changes.get(0).value());
    assertEquals(4, skipped("malformed"));
  }

  @Test
  void recordWithoutAValue_removesTheRow_alsoWithoutAKind() {
    String key = UsageStateCodec.key(row("a"));

    List<StateRecords.Change> changes =
        List.copyOf(records.changes(List.of(record(1, null, key, null))));

    assertEquals(1, changes.size());
    assertEquals(null, changes.get(0).value());
  }
}
