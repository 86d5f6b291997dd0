// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorStartException;
import io.weir.cli.run.LedgerListing;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Measures how many calls per second one thread of meter-core counts with exactly-once processing.
 * The thread reads a backlog from a real broker, until the ledger contains every call.
 */
final class MeterBenchmark {
  private static final int WINDOWS = 5;
  private static final Backlog.Shape SHAPE = Backlog.Shape.ofOneNode(0);

  /** Settings without grace, so that a window closes at its end. */
  static final Map<String, String> SETTINGS = Map.of("WEIR_WINDOW", "PT1M", "WEIR_GRACE", "PT0S");

  private final int calls;
  private final PrintStream out;

  MeterBenchmark(int calls, PrintStream out) {
    this.calls = calls;
    this.out = out;
  }

  void run(Path folder)
      throws IOException, InterruptedException, TopicAdminException, AggregatorStartException {
    try (Ground ground = Ground.start(folder, 1);
        Backlog backlog = new Backlog(ground.kafka(), SHAPE)) {
      // a small backlog warms the code up
      int warm = calls / 4;
      backlog.write(warm, WINDOWS);
      try (Aggregator aggregator = ground.aggregator(SETTINGS)) {
        awaitLedger(ground, warm);
        long begun = System.nanoTime();
        backlog.write(calls, WINDOWS);
        long written = System.nanoTime();
        awaitLedger(ground, warm + calls);
        long done = System.nanoTime();
        out.printf(
            "meter-core, one thread, exactly once, ledger written, %,d calls, batches of %d%n",
            calls, SHAPE.callsABatch());
        out.printf(
            "%,.0f calls/s while the backlog was being written and counted (%.1f s; writing"
                + " alone took %.1f s)%n",
            calls * 1e9 / (done - begun), (done - begun) / 1e9, (written - begun) / 1e9);
        out.println("reports are served on " + aggregator.reportsPort() + " meanwhile");
      }
    }
  }

  private static void awaitLedger(Ground ground, long calls) throws InterruptedException {
    while (LedgerListing.read(KafkaConnection.to(ground.kafka()), 0).allowed() < calls) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }
}
