// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.AggregatorStartException;
import io.weir.launcher.verify.LedgerListing;
import io.weir.servers.EmbeddedKafka;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Calls a second through meter-core on one thread, under exactly-once, over a backlog in a real
 * broker: from the start of the aggregator's work on it until the ledger holds every call.
 */
final class MeterBenchmark {
  private static final int WINDOWS = 5;

  private final int calls;
  private final PrintStream out;

  MeterBenchmark(int calls, PrintStream out) {
    this.calls = calls;
    this.out = out;
  }

  void run(Path folder)
      throws IOException, InterruptedException, TopicAdminException, AggregatorStartException {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("kafka"), 0)) {
      try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
        topics.createMissing(1, Optional.empty());
      }
      // a small backlog first, so that what is measured runs on warm code
      int warm = calls / 4;
      Backlog backlog = new Backlog(kafka.bootstrapServers(), WINDOWS, 0);
      backlog.write(warm);
      try (Aggregator aggregator = Aggregator.start(config(kafka, folder))) {
        awaitLedger(kafka, warm);
        long begun = System.nanoTime();
        backlog.write(calls);
        long written = System.nanoTime();
        awaitLedger(kafka, warm + calls);
        long done = System.nanoTime();
        out.printf(
            "meter-core, one thread, exactly once, ledger written, %,d calls, batches of %d%n",
            calls, Backlog.LINES_A_BATCH);
        out.printf(
            "%,.0f calls/s while the backlog was being written and counted (%.1f s; writing"
                + " alone took %.1f s)%n",
            calls * 1e9 / (done - begun), (done - begun) / 1e9, (written - begun) / 1e9);
        out.println("reports are served on " + aggregator.reportsPort() + " meanwhile");
      }
    }
    restart(folder);
  }

  /** The same backlog again from the start, by a new application: nothing writes meanwhile. */
  private void restart(Path folder)
      throws IOException, InterruptedException, AggregatorStartException, TopicAdminException {
    Path second = folder.resolve("second");
    try (EmbeddedKafka kafka = EmbeddedKafka.start(second.resolve("kafka"), 0)) {
      try (TopicAdmin topics = TopicAdmin.connect(kafka.bootstrapServers())) {
        topics.createMissing(1, Optional.empty());
      }
      new Backlog(kafka.bootstrapServers(), WINDOWS, 0).write(calls);
      long begun = System.nanoTime();
      try (Aggregator aggregator = Aggregator.start(config(kafka, second))) {
        awaitLedger(kafka, calls);
        long done = System.nanoTime();
        out.printf(
            "%,.0f calls/s from a cold start of the aggregator on port %d to the last row"
                + " (%.1f s, start and rebalance included)%n",
            calls * 1e9 / (done - begun), aggregator.reportsPort(), (done - begun) / 1e9);
      }
    }
  }

  private static AggregatorConfig config(EmbeddedKafka kafka, Path folder) {
    return AggregatorConfig.of(
        Map.of(
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_KAFKA",
            kafka.bootstrapServers(),
            "WEIR_DATA",
            folder.resolve("data").toString(),
            "WEIR_REPORTS_PORT",
            "0",
            "WEIR_WINDOW",
            "PT1M",
            "WEIR_GRACE",
            "PT0S"));
  }

  private static void awaitLedger(EmbeddedKafka kafka, long calls) throws InterruptedException {
    while (LedgerListing.read(kafka.bootstrapServers(), 0).allowed() < calls) {
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }
}
