// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The polls of the log while a search waits for a call. */
final class ArrivalTest {
  private static final int MOST_QUESTIONS = 16;

  /** Regression: the log's end was read every 20 ms. */
  @Test
  void await_callThatNeverArrives_pollsTheLogSeldom() throws Exception {
    LogInMemory log = new LogInMemory();

    assertFalse(Arrival.await(log, 0, batch -> true));
    assertTrue(log.questions() <= MOST_QUESTIONS, () -> log.questions() + " questions");
  }
}
