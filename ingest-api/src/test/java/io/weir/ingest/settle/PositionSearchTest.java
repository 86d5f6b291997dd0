// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsagePosition;
import org.junit.jupiter.api.Test;

/** Which line a position leads to. */
final class PositionSearchTest {
  private static final long FIRST = 1_700_000_000_000L;
  private static final long MIDDLE = FIRST + 600_000;
  private static final long LAST = FIRST + 1_200_000;
  private static final long SENT = FIRST + 1_800_000;

  private final LogInMemory log = new LogInMemory();

  /** Regression: the hello of the last epoch, sent first, made the middle epoch seem passed. */
  @Test
  void lineOfAMiddleEpoch_ofANodeOpenedTwiceWithoutKafka_isFound() throws Exception {
    writeThreeEpochs();

    for (long guess : new long[] {0, 1, 2, 3, 5, 60, 90}) {
      assertFound("two", new UsagePosition(0, "n", MIDDLE, 2), guess);
      assertFound("one", new UsagePosition(0, "n", FIRST, 1), guess);
    }
  }

  /** The same journal, with its middle epoch lost. */
  @Test
  void lineLostWithItsEpoch_isNowhere() throws Exception {
    writeThreeEpochs();

    assertEquals(
        PositionSearch.Result.NOWHERE,
        search(new UsagePosition(0, "n", MIDDLE, 3), lines("three"), 90));
  }

  private void writeThreeEpochs() {
    log.add(header(FIRST, 1, 0, 0), line("one"), SENT);
    log.add(header(LAST, 0, 2, 2), new byte[0], SENT + 1);
    log.add(new BatchHeader("n", FIRST, 2, 0, MIDDLE, 1, 0, true), new byte[0], SENT + 2);
    log.add(header(MIDDLE, 1, 1, 1), line("two"), SENT + 3);
    log.add(header(LAST, 0, 2, 2), new byte[0], SENT + 4);
    log.add(new BatchHeader("n", MIDDLE, 3, 0, LAST, 2, 1, true), new byte[0], SENT + 5);
    log.addHeartbeats(100, header(LAST, 0, 2, 2), SENT + 6);
  }

  private void assertFound(String id, UsagePosition at, long guess) throws Exception {
    CallLineSelection lines = lines(id);
    assertEquals(PositionSearch.Result.EXAMINED, search(at, lines, guess), id + " from " + guess);
    assertNotNull(lines.found());
  }

  private PositionSearch.Result search(UsagePosition at, CallLineSelection lines, long guess)
      throws Exception {
    return new PositionSearch(log, lines, at).run(guess);
  }

  private static CallLineSelection lines(String id) {
    return new CallLineSelection(new CallQuery("acme", id, null), 0);
  }

  private static byte[] line(String id) {
    return LogInMemory.lines(LogInMemory.call(id, true, FIRST));
  }

  private static BatchHeader header(long epoch, int count, long linesBefore, long beforeEpoch) {
    return new BatchHeader("n", epoch, 1, count, FIRST, linesBefore, beforeEpoch, false);
  }
}
