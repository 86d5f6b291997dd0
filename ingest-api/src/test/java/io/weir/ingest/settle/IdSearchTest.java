// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.topics.model.BatchHeader;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The result of a search by id alone for a call with several attempts. */
final class IdSearchTest {
  private static final long T = 1_700_000_000_000L;
  private static final long HOUR = 3_600_000;

  private final LogInMemory log = new LogInMemory();
  private final CallLineSelection lines =
      new CallLineSelection(new CallQuery("acme", "order-1", null), 0);

  /** Allowed and billed; the answer was lost, and a retry half a minute later was denied. */
  @Test
  void allowedCall_isFound_behindADeniedRetry() throws Exception {
    tryOf(true, 0, T);
    log.addHeartbeats(30, header(0, 1), T + 1_000);
    tryOf(false, 1, T + 31_000);
    run(-1, T + 32_000);

    assertTrue(lines.hasAllowed());
  }

  /** Regression: the denied try at the time in the id ended the search. */
  @Test
  void allowedRetry_isFound_farBehindTheTimeInTheId() throws Exception {
    tryOf(false, 0, T);
    fill(31, T, T + 62_000);
    tryOf(true, 1, T + 62_000);
    log.addHeartbeats(30, header(0, 2), T + 63_000);
    run(T, T + 95_000);

    assertTrue(lines.hasAllowed());
  }

  @Test
  void deniedTry_isConclusiveOnlyIfEverythingWasRead() throws Exception {
    tryOf(false, 0, T);
    assertTrue(run(-1, T + 2_000).hasReadAll());

    fill(90, T, T + 62_000);
    tryOf(false, 1, T + 62_000);
    assertFalse(run(-1, T + 63_000).hasReadAll());
    assertFalse(lines.hasAllowed());
  }

  @Test
  void timeIn_isReadFromUuidsOfVersion7Only() {
    String ours = new UUID((T << 16) | 0x7abcL, 0x8000000000000001L).toString();

    assertEquals(T, IdSearch.timeIn(ours));
    assertEquals(-1, IdSearch.timeIn(UUID.nameUUIDFromBytes(new byte[] {1}).toString()));
    assertEquals(-1, IdSearch.timeIn("zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz"));
    assertEquals(-1, IdSearch.timeIn(""));
  }

  private IdSearch run(long hintMillis, long nowMillis) throws Exception {
    IdSearch search = new IdSearch(log, lines, nowMillis);
    search.run(hintMillis, HOUR);
    return search;
  }

  private void tryOf(boolean allowed, long linesBefore, long atMillis) {
    byte[] line = LogInMemory.lines(LogInMemory.call("order-1", allowed, atMillis));
    log.add(header(1, linesBefore), line, atMillis);
  }

  private void fill(int batches, long fromMillis, long toMillis) {
    byte[] filler = new byte[300 << 10];
    for (int i = 0; i < batches; i++) {
      log.add(
          new BatchHeader("o", 1, i + 1, 1, T, i, false),
          filler,
          fromMillis + (toMillis - fromMillis) * i / batches);
    }
  }

  private static BatchHeader header(int count, long linesBefore) {
    return new BatchHeader("n", 1, 1, count, T, linesBefore, false);
  }
}
