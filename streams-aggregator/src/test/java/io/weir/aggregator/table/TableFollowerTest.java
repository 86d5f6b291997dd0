// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class TableFollowerTest {
  /** Both would be compared with the same old value, and count twice in sums of changes. */
  @Test
  void rowThatComesTwiceInAPoll_isTakenOnce_asItWasLast() {
    List<ConsumerRecord<byte[], byte[]>> polled =
        List.of(record(1, "a"), record(2, "b"), record(3, null), record(4, "a"));

    assertEquals(
        List.of(2L, 4L),
        TableFollower.newest(polled).stream().map(ConsumerRecord::offset).sorted().toList());
  }

  private static ConsumerRecord<byte[], byte[]> record(long offset, @Nullable String key) {
    return new ConsumerRecord<>(
        "topic", 0, offset, key == null ? null : key.getBytes(StandardCharsets.UTF_8), new byte[0]);
  }
}
