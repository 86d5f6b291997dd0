// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class ToldReportTest {
  private static final ToldReport BEFORE = new ToldReport(7, 100, true, "one");

  @Test
  void upToDate_fewerCalls_cannotBeRight_howeverFarItIsCounted() {
    assertFalse(new ToldReport(6, 99, true, "other").mayFollow(BEFORE));
    assertFalse(new ToldReport(6, 100, true, "other").mayFollow(BEFORE));
    assertFalse(new ToldReport(6, 101, true, "other").mayFollow(BEFORE));
  }

  @Test
  void notUpToDate_fewerCalls_canBeRight_unlessItIsCountedFurther() {
    assertTrue(new ToldReport(6, 99, false, "other").mayFollow(BEFORE));
    assertTrue(new ToldReport(6, 100, false, "other").mayFollow(BEFORE));
    assertFalse(new ToldReport(6, 101, false, "other").mayFollow(BEFORE));
  }

  @Test
  void asManyCallsOrMore_canBeRight() {
    assertTrue(new ToldReport(7, 99, true, "other").mayFollow(BEFORE));
    assertTrue(new ToldReport(8, 101, false, "other").mayFollow(BEFORE));
  }

  @Test
  void most_alike_isTheFirst() {
    assertEquals(BEFORE, ToldReport.most(BEFORE, new ToldReport(7, 200, true, "other")));
    ToldReport more = new ToldReport(8, 200, true, "other");
    assertEquals(more, ToldReport.most(BEFORE, more));
  }
}
