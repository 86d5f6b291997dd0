// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.errors.StreamsException;
import org.junit.jupiter.api.Test;

final class SkippedOffsetsTest {
  private final List<String> asked = new ArrayList<>();
  private boolean holdsRecord;
  private final SkippedOffsets skipped =
      new SkippedOffsets(
          (partition, from, to) -> {
            asked.add(partition + ":" + from + "-" + to);
            return holdsRecord;
          });

  @Test
  void offsetsWithoutAGap_areAcceptedWithoutAskingKafka() {
    skipped.refuse(0, -1, 7);
    skipped.refuse(0, 8, 8);
    skipped.refuse(0, 8, 3);

    assertEquals(List.of(), asked);
  }

  @Test
  void offsetGapWithRecords_isRefusedEachTime() {
    holdsRecord = true;

    for (int i = 0; i < 3; i++) {
      assertThrows(StreamsException.class, () -> skipped.refuse(2, 5, 9));
    }

    assertEquals(List.of("2:5-9", "2:5-9", "2:5-9"), asked);
  }

  @Test
  void offsetGapWithoutRecords_isAccepted() {
    assertDoesNotThrow(() -> skipped.refuse(2, 5, 9));
  }
}
