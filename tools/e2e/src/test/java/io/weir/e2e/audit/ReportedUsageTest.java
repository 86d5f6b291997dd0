// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class ReportedUsageTest {
  private static final ReportedUsage BEFORE = new ReportedUsage(7, 100, true, "one");

  @Test
  void mayFollow_upToDateWithFewerCalls_isFalse() {
    assertFalse(new ReportedUsage(6, 99, true, "other").mayFollow(BEFORE));
    assertFalse(new ReportedUsage(6, 100, true, "other").mayFollow(BEFORE));
    assertFalse(new ReportedUsage(6, 101, true, "other").mayFollow(BEFORE));
  }

  @Test
  void mayFollow_outdatedWithFewerCalls_isTrueUnlessCountedFurther() {
    assertTrue(new ReportedUsage(6, 99, false, "other").mayFollow(BEFORE));
    assertTrue(new ReportedUsage(6, 100, false, "other").mayFollow(BEFORE));
    assertFalse(new ReportedUsage(6, 101, false, "other").mayFollow(BEFORE));
  }

  @Test
  void mayFollow_asManyOrMoreCalls_isTrue() {
    assertTrue(new ReportedUsage(7, 99, true, "other").mayFollow(BEFORE));
    assertTrue(new ReportedUsage(8, 101, false, "other").mayFollow(BEFORE));
  }

  @Test
  void most_equalUsage_isTheFirst() {
    assertEquals(BEFORE, ReportedUsage.most(BEFORE, new ReportedUsage(7, 200, true, "other")));
    ReportedUsage more = new ReportedUsage(8, 200, true, "other");
    assertEquals(more, ReportedUsage.most(BEFORE, more));
  }
}
