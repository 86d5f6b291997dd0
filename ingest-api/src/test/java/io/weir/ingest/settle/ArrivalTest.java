// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What waiting for a call costs. */
final class ArrivalTest {
  private static final int MOST_QUESTIONS = 16;

  /** Once, it asked for the end of the log each 20 ms. */
  @Test
  void callThatDoesNotCome_isWaitedForWithFewQuestions() throws Exception {
    LogInMemory log = new LogInMemory();

    assertFalse(Arrival.await(log, 0, batch -> true));
    assertTrue(log.questions() <= MOST_QUESTIONS, () -> log.questions() + " questions");
  }
}
