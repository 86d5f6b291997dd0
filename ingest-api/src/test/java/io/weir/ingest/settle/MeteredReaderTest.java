// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.CodedOutputStream;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsagePosition;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The cost of a search in its client's read budget. */
final class MeteredReaderTest {
  private static final long T = 1_700_000_000_000L;
  private static final int SECONDS = 180;
  private static final int BATCH_MILLIS = 20;
  private static final int BATCH_BYTES = 10_000;
  private static final int SETTLED_PER_SECOND = 20;

  private final LogInMemory log = new LogInMemory();
  private long nowMillis = T;
  private final ReadBudgets budgets = new ReadBudgets(() -> (nowMillis - T) * 1_000_000);

  /**
   * Regression: each search was charged a whole slice, so that eight a second exhausted the budget.
   */
  @Test
  void twentySettlementsASecond_withPositions_doNotExhaustTheBudget() throws Exception {
    byte[] lines =
        LogInMemory.lines(
            LogInMemory.call("order-1", true, T), LogInMemory.call("order-2", true, T));
    byte[] value = Arrays.copyOf(lines, BATCH_BYTES);
    // a field that the schema lacks fills the rest of the batch
    CodedOutputStream out =
        CodedOutputStream.newInstance(value, lines.length, value.length - lines.length);
    out.writeTag(2, 2);
    out.writeUInt32NoTag(out.spaceLeft() - 2);
    for (int i = 0; i < SECONDS * 1_000 / BATCH_MILLIS; i++) {
      long at = T + (long) BATCH_MILLIS * i;
      log.add(new BatchHeader("n", T, i + 1, 2, T, 2L * i, false), value, at);
    }

    for (int i = 0; i < SETTLED_PER_SECOND * (SECONDS - 3); i++) {
      long calledAt = T + 1_000 + 1_000L * i / SETTLED_PER_SECOND;
      nowMillis = calledAt + 1_000;
      log.endsAt((int) ((nowMillis - T) / BATCH_MILLIS) + 1);
      assertEquals(0, budgets.secondsToWait("acme"), "seconds to wait, settlement " + i);
      find(new UsagePosition(0, "n", T, 2 * ((calledAt - T) / BATCH_MILLIS) + 1), calledAt);
    }
  }

  private void find(UsagePosition at, long calledAt) throws Exception {
    MeteredReader reader = reader();
    CallLineSelection lines = new CallLineSelection(new CallQuery("acme", "order-1", at), 0);
    new PositionSearch(reader, lines, at).run(reader.offsetAt(calledAt - 250));
    assertNotNull(lines.found());
    reader.hasFoundByPosition();
  }

  /** Regression: requests that return no record were free. */
  @Test
  void everyRequestToKafka_isChargedToTheBudget() throws Exception {
    log.add(new BatchHeader("n", T, 1, 1, T, 0, false), new byte[BATCH_BYTES], T);
    MeteredReader reader = reader();
    reader.begin();
    reader.end();
    reader.offsetAt(T);
    assertEquals(3 * MeteredReader.REQUEST_BYTES, budgets.level("acme"));

    reader.read(0);
    assertEquals(4 * MeteredReader.REQUEST_BYTES + BATCH_BYTES, budgets.level("acme"));

    reader.hasFoundByPosition();
    assertEquals(MeteredReader.REQUEST_BYTES, budgets.level("acme"));
  }

  @Test
  void spentBudget_endsReading() {
    budgets.spend("acme", ReadBudgets.CAPACITY_BYTES);

    assertThrows(PartitionReader.Spent.class, () -> reader().read(0));
  }

  private MeteredReader reader() {
    return new MeteredReader(log, budgets, "acme", KafkaCallFinder.MAX_SEARCH_BYTES, () -> false);
  }
}
