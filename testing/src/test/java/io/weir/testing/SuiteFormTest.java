// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
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
  void new_unknownName_isRefused() {
    for (String name : List.of("", "long", "turn-3", "turn-", "all ")) {
      assertThrows(IllegalArgumentException.class, () -> new SuiteForm(name), name);
    }
  }
}
