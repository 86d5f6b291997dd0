// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;

final class PlacementTest {
  private static final long RETENTION = Placement.RETENTION.toNanos();

  /** {@link System#nanoTime} may be anything, and run over. */
  private static final long NOW = Long.MAX_VALUE - 1;

  private final Placement placement = new Placement();

  @Test
  void wantedPartitions_areFollowed_heldOrNot() {
    assertDecided(Set.of(1, 2), Set.of(), placement.decide(Set.of(1, 2), Set.of(1), NOW));
  }

  @Test
  void partitionFoundInTheTable_isFollowedForAWhile_thenDropped() {
    assertDecided(Set.of(3), Set.of(), placement.decide(Set.of(), Set.of(3), NOW));
    assertDecided(Set.of(3), Set.of(), placement.decide(Set.of(), Set.of(3), NOW + RETENTION - 1));
    assertDecided(Set.of(), Set.of(3), placement.decide(Set.of(), Set.of(3), NOW + RETENTION));
  }

  @Test
  void partitionMovedAway_isKeptForTheRetentionFromThen() {
    assertDecided(Set.of(3), Set.of(), placement.decide(Set.of(3), Set.of(3), NOW));
    assertDecided(Set.of(3), Set.of(), placement.decide(Set.of(3), Set.of(3), NOW + RETENTION));
    long moved = NOW + RETENTION;
    assertDecided(
        Set.of(3), Set.of(), placement.decide(Set.of(), Set.of(3), moved + RETENTION - 1));
    assertDecided(Set.of(), Set.of(3), placement.decide(Set.of(), Set.of(3), moved + RETENTION));
  }

  @Test
  void partitionThatCameBack_restartsItsRetention() {
    placement.decide(Set.of(3), Set.of(3), NOW);
    placement.decide(Set.of(3), Set.of(3), NOW + RETENTION - 1);

    assertDecided(Set.of(3), Set.of(), placement.decide(Set.of(), Set.of(3), NOW + RETENTION + 1));
  }

  @Test
  void partitionMovedAwayWithoutData_isForgotten() {
    placement.decide(Set.of(4), Set.of(), NOW);

    assertDecided(Set.of(), Set.of(), placement.decide(Set.of(), Set.of(), NOW + 1));
  }

  private static void assertDecided(
      Set<Integer> followed, Set<Integer> dropped, Placement.Decision decision) {
    assertEquals(followed, decision.followed());
    assertEquals(dropped, decision.dropped());
  }
}
