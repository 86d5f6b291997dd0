// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.testing.Await;
import io.weir.topics.kafka.KafkaConnection;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The process that {@link KilledNodeIT} kills: records calls without end and prints {@code position
 * id} of each that was answered, one line each, at once.
 */
final class JournalChild {
  private static final int THREADS = 8;

  private JournalChild() {}

  /** Arguments: bootstrap servers, journal folder, prefix of the ids. */
  public static void main(String[] args) {
    RecordConfig config =
        RecordConfig.builder("killed", KafkaConnection.to(args[0]), Path.of(args[1]))
            .startTimeout(Await.TIMEOUT)
            .linger(Duration.ofMillis(5))
            .maxBatchLines(100)
            .build();
    PrintStream out =
        new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16),
            false,
            StandardCharsets.UTF_8);
    DecisionClock clock = DecisionClock.ofSystem();
    KafkaCallLog log = KafkaCallLog.open(config, clock);
    for (int t = 0; t < THREADS; t++) {
      int thread = t;
      new Thread(() -> record(log, args[2] + "-" + thread, out)).start();
    }
  }

  private static void record(KafkaCallLog log, String prefix, PrintStream out) {
    for (int i = 0; ; i++) {
      String id = prefix + "-" + i;
      Ticket ticket = log.begin();
      Recorded recorded =
          log.record(ticket, TestCalls.call(id, "client-" + i % 17, ticket.begunAtEpochMillis()));
      if (!(recorded instanceof Recorded.Durable durable)) {
        throw new IllegalStateException("not recorded: " + recorded);
      }
      synchronized (out) {
        out.println(durable.position() + " " + id);
        out.flush();
      }
    }
  }
}
