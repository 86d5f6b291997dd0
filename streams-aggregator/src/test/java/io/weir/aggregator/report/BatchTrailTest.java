// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.BatchHeader;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class BatchTrailTest {
  @Test
  void take_sameBatchAgain_isNotNew() {
    BatchTrail trail = BatchTrail.startingAt(batch(7, 0));

    assertTrue(trail.take(batch(7, 0), 1_000));
    assertTrue(trail.take(batch(8, 0), 1_000));
    assertFalse(trail.take(batch(7, 0), 1_000));
    assertFalse(trail.take(batch(8, 0), 1_000));
  }

  @Test
  void lowWatermark_behindAHole_isIgnoredUntilItCloses() {
    BatchTrail trail = BatchTrail.startingAt(batch(1, 100));
    trail.take(batch(1, 100), 1_000);

    trail.take(batch(3, 300), 1_000);
    assertFalse(trail.hasPassed(300));
    trail.take(heartbeat(3, 400), 1_000);
    assertFalse(trail.hasPassed(300));
    trail.take(batch(2, 200), 1_000);
    trail.take(heartbeat(3, 400), 1_000);
    assertTrue(trail.hasPassed(400));
    assertFalse(trail.hasPassed(401));
  }

  @Test
  void lowWatermark_beyondTheBrokersTime_isReduced() {
    BatchTrail trail = BatchTrail.startingAt(heartbeat(5, 9_000));
    trail.take(heartbeat(5, 9_000), 1_000);

    assertTrue(trail.hasPassed(1_000));
    assertFalse(trail.hasPassed(1_001));
  }

  @Test
  void hasPassed_departedJournal_isTrueForAnyTime() {
    BatchTrail trail = BatchTrail.startingAt(heartbeat(0, 1));
    trail.take(new BatchHeader("n", 1, 0, 0, 1, 0, true), 1);

    assertTrue(trail.hasPassed(Long.MAX_VALUE));
  }

  @Test
  void parse_ofAnythingElse_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> BatchTrail.parse(""));
    assertThrows(IllegalArgumentException.class, () -> BatchTrail.parse("1.2.x.0."));
  }

  @Test
  void take_inAnyOrderWithinReach_isNewOnce_alsoAfterParsing() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      long next = 1L + random.nextInt(50);
      BatchTrail trail = BatchTrail.startingAt(batch(next, 0));
      Set<Long> met = new HashSet<>();
      for (int i = 0; i < 200; i++) {
        long sequence = Math.max(1, next - 8 + random.nextInt(16));
        next = Math.max(next, sequence);

        assertEquals(
            met.add(sequence), trail.take(batch(sequence, 0), 1), "seed " + seed + " step " + i);
        if (random.nextInt(10) == 0) {
          trail = BatchTrail.parse(trail.toString());
        }
      }
    }
  }

  private static BatchHeader batch(long sequence, long promise) {
    return new BatchHeader("n", 1, sequence, 1, promise, 0, false);
  }

  private static BatchHeader heartbeat(long sequence, long promise) {
    return new BatchHeader("n", 1, sequence, 0, promise, 0, false);
  }
}
