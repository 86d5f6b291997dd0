// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import io.weir.testing.ChildJvm;
import io.weir.topics.model.CallEvent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The memory of {@code weir verify} does not grow with calls. Ten million of them are verified by
 * the benchmark of that name.
 */
final class VerifyMemoryIT {
  private static final int CALLS = 200_000;
  private static final int LINES_A_BATCH = 1_000;
  private static final String HEAP = "40m";

  @TempDir private Path folder;

  @Test
  void manyIdsOfCallers_inASmallHeap_areAllRemembered() throws Exception {
    try (TestKafka kafka = TestKafka.borrow()) {
      WrittenTopics.create(kafka.bootstrapServers(), 1);
      WrittenTopics topics = written();
      topics.writeComplete(kafka.bootstrapServers());

      Process verify = start(kafka, topics);

      int status = verify.waitFor();
      String said = Files.readString(folder.resolve("said"));
      assertEquals(0, status, said);
      assertTrue(said.contains("recounted " + CALLS + " calls"), said);
      assertTrue(said.contains("dropped as duplicate " + LINES_A_BATCH), said);
      try (Stream<Path> left = Files.list(folder)) {
        assertEquals(1, left.count(), "what was remembered is gone");
      }
    }
  }

  /** The first batch stands there again at the end, at other places: its ids are known. */
  private static WrittenTopics written() {
    WrittenTopics topics = new WrittenTopics(0, 1);
    topics.clear();
    CallEvent[] calls = new CallEvent[CALLS];
    for (int i = 0; i < CALLS; i++) {
      calls[i] = topics.call("order-" + i, true, 1, true);
    }
    for (int from = 0; from < CALLS; from += LINES_A_BATCH) {
      topics.batch(
          Arrays.asList(calls).subList(from, from + LINES_A_BATCH).toArray(CallEvent[]::new));
    }
    topics.batch(Arrays.asList(calls).subList(0, LINES_A_BATCH).toArray(CallEvent[]::new));
    topics.repeated = LINES_A_BATCH;
    topics.ledger.add(topics.row(calls));
    topics.ledger.add(topics.close(1, CALLS));
    topics.states.add(topics.state(1, calls));
    topics.counters = new long[] {CALLS + LINES_A_BATCH, CALLS, LINES_A_BATCH, 0};
    return topics;
  }

  private Process start(TestKafka kafka, WrittenTopics topics) throws Exception {
    ProcessBuilder command =
        new ProcessBuilder(
            ChildJvm.command(
                HEAP,
                WeirCommand.class,
                "verify",
                "--from",
                Instant.ofEpochMilli(topics.start).toString(),
                "--to",
                Instant.ofEpochMilli(topics.window().endEpochMillis()).toString(),
                "--scratch",
                folder.toString()));
    command.environment().put("WEIR_KAFKA", kafka.bootstrapServers());
    return command
        .redirectOutput(folder.resolve("said").toFile())
        .redirectErrorStream(true)
        .start();
  }
}
