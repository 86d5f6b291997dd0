// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class SuiteFormTest {
  private static final List<Integer> CARDS = List.of(0, 1, 2, 3, 4, 5, 6);

  @Test
  void includes_shortForm_containsNoTurn() {
    for (int turn = 0; turn < SuiteForm.TURNS; turn++) {
      assertFalse(SuiteForm.ofShort().includes(turn));
      assertTrue(SuiteForm.all().includes(turn));
      assertTrue(SuiteForm.turn(turn).includes(turn));
      assertFalse(SuiteForm.turn(turn).includes((turn + 1) % SuiteForm.TURNS));
    }
    assertThrows(IllegalArgumentException.class, () -> SuiteForm.all().includes(3));
  }

  @Test
  void share_ofAllTurnsTogether_isTheWholeList_andNothingTwice() {
    List<Integer> together = new ArrayList<>();
    for (int turn = 0; turn < SuiteForm.TURNS; turn++) {
      together.addAll(SuiteForm.turn(turn).share(CARDS));
    }

    assertEquals(CARDS, together.stream().sorted().toList());
    assertEquals(CARDS, SuiteForm.all().share(CARDS));
    assertEquals(List.of(), SuiteForm.ofShort().share(CARDS));
  }

  @Test
  void includesClass_thirdsTogether_haveEachIntegrationTestOnce_andAllUnitTests() {
    for (int i = 0; i < 100; i++) {
      String name = "Case" + i + "IT";
      long thirds =
          IntStream.range(0, SuiteForm.TURNS)
              .filter(third -> SuiteForm.third(third).includesClass(name))
              .count();
      assertEquals(1, thirds, name);
      assertTrue(SuiteForm.ofShort().includesClass(name));
      assertTrue(SuiteForm.turn(1).includesClass(name));
      assertTrue(SuiteForm.third(i % SuiteForm.TURNS).includesClass("Case" + i + "Test"));
    }
    assertFalse(SuiteForm.third(2).includes(2));
  }

  @Test
  void new_unknownName_isRefused() {
    for (String name : List.of("", "long", "turn-3", "turn-", "third-3", "all ")) {
      assertThrows(IllegalArgumentException.class, () -> new SuiteForm(name), name);
    }
  }
}
