// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests through which time partitions are read, and when they must be read again. */
final class ReadThroughTimesTest {
  private static final long DAY = Duration.ofDays(1).toMillis();
  private static final long MINUTE = Duration.ofMinutes(1).toMillis();
  private static final int PARTITION = 1;
  private static final long END = 10;

  private final Barriers barriers = new Barriers();
  private long now = 1_000 * DAY;
  private final ReadThroughTimes held =
      new ReadThroughTimes(Duration.ofDays(7), barriers, () -> now);

  @Test
  void partitionAbsentForUnderHalfTheRetention_isReadOn() {
    assertFalse(held.isTooOldAt(now - 3 * DAY));
    assertTrue(held.isTooOldAt(now - 4 * DAY));
  }

  @Test
  void unknownPartition_isReadAgain() {
    assertTrue(held.isTooOldAt(0));
    assertTrue(held.isTooOld(PARTITION));
  }

  @Test
  void clockThatWasSetBackALittle_makesNothingTooOld_andByDaysDoes() {
    assertFalse(held.isTooOldAt(now + MINUTE));
    assertTrue(held.isTooOldAt(now + 4 * DAY));
  }

  @Test
  void partitionReadToItsEnd_hasTheTimeOfTheRequest_notOfTheReply() {
    held.begin(PARTITION, now - DAY);
    long asked = now;
    held.requestBarriers(List.of(PARTITION));
    barriers.findEnds(Set.of(PARTITION), partitions -> Map.of(PARTITION, END));
    now += 5 * MINUTE;
    barriers.settle(partition -> END);

    assertEquals(Set.of(PARTITION), held.settle());
    assertEquals(asked, held.of(PARTITION));
    assertEquals(Set.of(), held.settle());
  }

  @Test
  void partitionBehindItsEnd_isNotHeldThroughMore() {
    held.begin(PARTITION, now - DAY);
    held.requestBarriers(List.of(PARTITION));
    barriers.findEnds(Set.of(PARTITION), partitions -> Map.of(PARTITION, END));
    barriers.settle(partition -> END - 1);

    assertEquals(Set.of(), held.settle());
    assertEquals(now - DAY, held.of(PARTITION));
  }

  @Test
  void kafkaUnavailable_renewsNothing_andRetries() {
    held.begin(PARTITION, now - DAY);
    held.requestBarriers(List.of(PARTITION));
    barriers.findEnds(Set.of(PARTITION), partitions -> Map.of());
    assertEquals(Set.of(), held.settle());

    now += MINUTE;
    assertTrue(renews());
  }

  @Test
  void queriesKafka_onceAMinute() {
    held.begin(PARTITION, now - DAY);
    assertTrue(renews());
    now += MINUTE - 1;
    assertFalse(renews());
    now += 1;
    assertTrue(renews());
  }

  /** Kafka was away for so long; that it is there again is to be known at once. */
  @Test
  void partitionThatBecameTooOld_isQueriedAtOnce_notRenewed() {
    held.begin(PARTITION, now);
    assertTrue(renews());
    now += 4 * DAY;
    long before = held.of(PARTITION);
    assertTrue(renews());
    assertTrue(renews(), "again, though a minute has not passed");

    assertTrue(held.isTooOld(PARTITION));
    assertEquals(before, held.of(PARTITION));
  }

  @Test
  void readingFromTheBeginning_mustComeToTheEndInTime() {
    held.beginFromStart(PARTITION);
    assertFalse(held.isTooOld(PARTITION));
    now += 4 * DAY;
    assertTrue(held.isTooOld(PARTITION));
  }

  /**
   * Else a topic whose tombstones are kept for a minute would be read forever, and never be
   * reported.
   */
  @Test
  void readingThatTakesLongerThanTheBound_isGivenMoreTime_andEnds() {
    assertEquals(0, held.beginFromStart(PARTITION));
    now += 6 * DAY; // longer than the bound of three days and a half
    assertTrue(held.isTooOld(PARTITION));

    assertEquals(1, held.beginFromStart(PARTITION));
    held.requestBarriers(List.of(PARTITION));
    barriers.findEnds(Set.of(PARTITION), partitions -> Map.of(PARTITION, END));
    now += 6 * DAY;
    assertFalse(held.isTooOld(PARTITION));
    barriers.settle(partition -> END);
    assertEquals(Set.of(PARTITION), held.settle());
    assertFalse(held.isTooOld(PARTITION), "not read again at once");

    assertTrue(renews(), "asked at once, for what was published while it was read");
    assertEquals(now, held.of(PARTITION));
    now += 4 * DAY;
    assertTrue(held.isTooOld(PARTITION), "the bound is as before");
    assertEquals(0, held.beginFromStart(PARTITION));
  }

  @Test
  void readingThatIsBegunAgainInTime_isGivenNoMoreTime() {
    held.beginFromStart(PARTITION);
    now += DAY;

    assertEquals(0, held.beginFromStart(PARTITION));
  }

  @Test
  void boundThatIsDoubledForEver_isNoOverflow() {
    ReadThroughTimes endless =
        new ReadThroughTimes(Duration.ofMillis(Long.MAX_VALUE), barriers, () -> now);
    endless.beginFromStart(PARTITION);
    assertFalse(endless.isTooOld(PARTITION));
    for (int late = 1; late <= 70; late++) {
      held.beginFromStart(PARTITION);
      now += (8 * DAY) << Math.min(late, 21);
    }
    held.beginFromStart(PARTITION);
    assertFalse(held.isTooOld(PARTITION));
  }

  @Test
  void topicWithoutTombstones_isNotReadForEver() {
    ReadThroughTimes none = new ReadThroughTimes(Duration.ZERO, barriers, () -> now);
    none.beginFromStart(PARTITION);
    now += 3_000;

    assertFalse(none.isTooOld(PARTITION));
  }

  private boolean renews() {
    held.requestBarriers(List.of(PARTITION));
    barriers.findEnds(Set.of(PARTITION), partitions -> Map.of(PARTITION, END));
    barriers.settle(partition -> END);
    return held.settle().contains(PARTITION);
  }
}
