// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class BarriersTest {
  private static final Set<Integer> FOLLOWED = Set.of(1, 2);

  private final Barriers barriers = new Barriers();
  private final Barrier one = new Barrier(1);
  private final Barrier two = new Barrier(2);
  private final List<Set<Integer>> questions = new ArrayList<>();

  @Test
  void barrier_isReachedAtItsEnd_andNotBefore() {
    barriers.request(List.of(one));
    assertTrue(barriers.hasRequested());
    findEnds(Map.of(1, 10L));
    assertFalse(barriers.hasRequested());

    barriers.settle(partition -> 9);
    assertFalse(one.reached.isDone());
    barriers.settle(partition -> 10);
    assertEquals(Freshness.UP_TO_DATE, one.reached.join());
  }

  @Test
  void laterBarrier_isNotReachedByAnEarlierEnd() {
    Barrier later = new Barrier(1);
    barriers.request(List.of(one));
    findEnds(Map.of(1, 10L));
    barriers.request(List.of(later));
    findEnds(Map.of(1, 20L));

    barriers.settle(partition -> 10);

    assertTrue(one.reached.isDone());
    assertFalse(later.reached.isDone());
  }

  @Test
  void concurrentBarriers_shareOneRequest() {
    Barrier same = new Barrier(1);
    barriers.request(List.of(one, two));
    barriers.request(List.of(same));
    findEnds(Map.of(1, 10L, 2, 0L));
    findEnds(Map.of());

    assertEquals(List.of(Set.of(1, 2)), questions);
    barriers.settle(partition -> partition == 1 ? 10 : Barrier.UNKNOWN);
    assertEquals(Freshness.UP_TO_DATE, one.reached.join());
    assertEquals(Freshness.UP_TO_DATE, same.reached.join());
    assertFalse(two.reached.isDone(), "a position that is not known reaches nothing");
  }

  @Test
  void unfollowedPartition_isMissing_evenIfItsEndIsKnown() {
    Barrier other = new Barrier(3);
    barriers.request(List.of(one, other));
    findEnds(Map.of(1, 10L));
    assertEquals(Freshness.MISSING, other.reached.join());

    barriers.findEnds(Set.of(2), partitions -> Map.of());
    assertEquals(Freshness.MISSING, one.reached.join());
  }

  @Test
  void unknownEnd_isKafkaUnavailable_forThatPartition() {
    barriers.request(List.of(one, two));
    findEnds(Map.of(2, 5L));
    barriers.settle(partition -> 5);

    assertEquals(Freshness.KAFKA_AWAY, one.reached.join());
    assertEquals(Freshness.UP_TO_DATE, two.reached.join());
  }

  @Test
  void abandonedBarrier_isNotRequested() {
    barriers.request(List.of(one));
    one.reached.complete(Freshness.MISSING);
    findEnds(Map.of());

    assertEquals(List.of(), questions);
  }

  @Test
  void abandon_endsWaitingAndNewBarriersAsMissing() {
    barriers.request(List.of(one));
    findEnds(Map.of(1, 10L));
    barriers.request(List.of(two));

    barriers.abandon();

    assertEquals(Freshness.MISSING, one.reached.join());
    assertEquals(Freshness.MISSING, two.reached.join());
  }

  @Test
  void partition_isReadableAtItsEnd_retriesWithoutKafka() {
    ReadablePartitions readable = new ReadablePartitions(barriers);
    readable.begin(1);
    findEnds(Map.of());
    barriers.settle(partition -> 0);
    readable.settle();
    assertFalse(readable.contains(1));
    assertFalse(barriers.hasRequested(), "or the thread would not rest");

    findEnds(Map.of(1, 7L));
    barriers.settle(partition -> 7);
    readable.settle();
    assertEquals(Set.of(1), readable.all());

    long reading = readable.reading(1);
    assertTrue(reading > 0);
    readable.begin(1);
    assertFalse(readable.contains(1), "read again");
    assertEquals(0, readable.reading(1));
    findEnds(Map.of(1, 9L));
    barriers.settle(partition -> 9);
    readable.settle();
    assertTrue(readable.reading(1) > reading, "a concurrent reader may lack rows");
  }

  private void findEnds(Map<Integer, Long> ends) {
    barriers.findEnds(
        FOLLOWED,
        partitions -> {
          questions.add(Set.copyOf(partitions));
          return ends;
        });
  }
}
