// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.settle.SearchPlan.Part;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Where a call is looked for, by what its id tells. */
final class SearchPlanTest {
  private static final long NOW = 1_763_690_400_000L;
  private static final long DAY = 86_400_000L;
  private static final long MAX_AGE = 35 * DAY;

  @Test
  void anyOtherId_isLookedFor_newestFirst_inGrowingSteps_backToTheHorizon() {
    assertEquals(
        List.of(
            new Part(NOW - 30_000, Long.MAX_VALUE),
            new Part(NOW - 150_000, NOW - 30_000),
            new Part(NOW - 600_000, NOW - 150_000)),
        SearchPlan.of("order-17", NOW, 600_000, MAX_AGE));
  }

  @Test
  void partsBeforeTheNewest_coverTheHorizon_withoutAHole() {
    for (long horizon : new long[] {1, 29_999, 30_000, 30_001, 3_600_000, 35 * DAY}) {
      List<Part> parts = SearchPlan.of("x", NOW, horizon, MAX_AGE);
      for (int i = 1; i < parts.size(); i++) {
        assertEquals(parts.get(i - 1).fromEpochMillis(), parts.get(i).toEpochMillis());
      }
      assertTrue(parts.get(parts.size() - 1).fromEpochMillis() <= NOW - horizon);
      assertTrue(parts.size() < 12, () -> parts.toString());
    }
  }

  @Test
  void idOfNow_isLookedForInTheNewestPartFirst() {
    List<Part> parts = SearchPlan.of(uuid(NOW - 40_000), NOW, 600_000, MAX_AGE);

    assertEquals(new Part(NOW - 45_000, Long.MAX_VALUE), parts.get(0));
    assertEquals(NOW - 45_000, parts.get(1).toEpochMillis());
  }

  @Test
  void olderId_isLookedForAtItsTime_beyondTheHorizonToo() {
    List<Part> parts = SearchPlan.of(uuid(NOW - 3 * DAY), NOW, 600_000, MAX_AGE);

    assertEquals(new Part(NOW - 3 * DAY - 5_000, NOW - 3 * DAY + 600_000), parts.get(0));
    assertTrue(parts.get(1).isOpen(), "a caller may have made the id long before the call");
  }

  @Test
  void idOfATimeThatCannotBe_tellsNothing() {
    List<Part> plain = SearchPlan.of("x", NOW, 600_000, MAX_AGE);

    assertEquals(plain, SearchPlan.of(uuid(NOW + 60_000), NOW, 600_000, MAX_AGE));
    assertEquals(plain, SearchPlan.of(uuid(NOW - 36 * DAY), NOW, 600_000, MAX_AGE));
    assertEquals(plain, SearchPlan.of(new UUID(7L << 12, 1).toString(), NOW, 600_000, MAX_AGE));
  }

  @Test
  void timeOf_readsOursOnly() {
    assertEquals(NOW, SearchPlan.timeOf(uuid(NOW)));
    assertEquals(-1, SearchPlan.timeOf(UUID.nameUUIDFromBytes(new byte[] {1}).toString()));
    assertEquals(-1, SearchPlan.timeOf("zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz"));
    assertEquals(-1, SearchPlan.timeOf(""));
  }

  private static String uuid(long millis) {
    return new UUID((millis << 16) | 0x7abcL, 0x8000000000000001L).toString();
  }
}
