// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress.Counters;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A broker whose clock is wrong takes records for a while. */
final class BrokerClockTest {
  private static final long DAY = 86_400_000;
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 60_000, 35 * DAY);
  private static final long T = 1_700_000_000_000L;

  private final Memory memory = new Memory(SETTINGS);
  private long lines;

  @Test
  void brokerClockAheadByFortyDays_everyCallIsCounted() {
    take(T, T, call("before", T));
    take(T + 1_000, T + 40 * DAY, call("while", T + 900));
    take(T + 2_000, T + 40 * DAY + 1_000, call("while too", T + 1_900));
    take(T + 3_000, T + 3_000, call("after", T + 2_900));
    watermark(T + 40_000);

    assertEquals(new Counters(4, 4, 0, 0, 0), memory.counter.progress().counters());
    assertTrue(memory.rows().stream().allMatch(row -> row.complete()));
    assertEquals(4, memory.rows().stream().mapToLong(row -> row.count().quantity()).sum());
  }

  @Test
  void brokerClockAheadFromTheFirstRecord_isNotTrustedForEver() {
    memory.takeCacheLoss("first", T, T + 40 * DAY);
    take(T, T + 40 * DAY, call("while", T));
    take(T + 3_000, T + 3_000, call("after", T + 2_900));

    assertEquals(new Counters(2, 2, 0, 0, 0), memory.counter.progress().counters());
  }

  @Test
  void cacheLostWhileTheBrokerClockIsAhead_isRestoredWithinAboutAMinute() {
    take(T, T, call("before", T));
    memory.takeCacheLoss("life2", T, T + 40 * DAY);

    watermark(T + 65_000);
    memory.tick();

    assertEquals(1, memory.restored.size());
  }

  @Test
  void callThatIsTooOldByAllClocks_isStillRefused() {
    take(T, T, call("now", T));
    take(T + 1_000, T + 1_000, call("old", T - 36 * DAY));

    assertEquals(new Counters(2, 1, 0, 0, 1), memory.counter.progress().counters());
  }

  @Test
  void nodesSilentForDays_laterCallsAreCountedByTheBrokersClock() {
    take(T, T, call("before", T));
    take(T + 3 * DAY, T + 3 * DAY, call("after", T + 3 * DAY));

    assertEquals(new Counters(2, 2, 0, 0, 0), memory.counter.progress().counters());
    assertEquals(T + 3 * DAY, memory.publish().newestLowWatermarkEpochMillis());
  }

  private void take(long lowWatermark, long broker, CallEvent call) {
    memory.take(
        new BatchHeader("n", 1, lines + 1, 1, lowWatermark, lines, false),
        Calls.value(List.of(call)),
        broker);
    lines++;
  }

  private void watermark(long at) {
    memory.take(new BatchHeader("n", 1, lines, 0, at, lines, false), new byte[0], at);
  }

  private static CallEvent call(String id, long decidedAt) {
    return Calls.allowed(id.replace(' ', '-'), "acme", 1, decidedAt);
  }
}
