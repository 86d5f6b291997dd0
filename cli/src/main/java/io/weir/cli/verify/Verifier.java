// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Compares the ledger, the state topic and the quarantine with a recount of the calls, window by
 * window. Memory does not grow with the number of calls: a folder on disk holds the intermediate
 * data, and is deleted at the end.
 *
 * <p>Calls may arrive during the verification, so the topics are read in a fixed order. First the
 * state topic is read, until it has counted all calls that were in the log at the beginning. Then
 * the ledger and the quarantine are read to their ends. Finally the calls are read that are counted
 * in the state topic, and no others. A call that arrives later can cause a difference only if it is
 * late. In this case everything is read again.
 */
public final class Verifier {
  private static final int ATTEMPTS = 3;

  private final Settings settings;

  /**
   * The settings of a verification.
   *
   * @param kafka the connection to Kafka
   * @param window the ledger's window
   * @param lateness maximum age of a call at its arrival, as configured in the aggregator
   * @param timeout maximum time to wait until the aggregator has counted the calls in the log
   * @param givenUp records that an operator moved to the quarantine, as {@code partition@offset}
   * @param mayRepeat whether ledger rows and quarantined records may occur twice, as after a reset
   *     of the aggregator
   * @param scratch folder in which to create the folder for intermediate data
   */
  public record Settings(
      KafkaConnection kafka,
      Duration window,
      Duration lateness,
      Duration timeout,
      Set<String> givenUp,
      boolean mayRepeat,
      Path scratch) {
    public Settings {
      givenUp = Set.copyOf(givenUp);
    }
  }

  /** Creates a verifier. */
  public Verifier(Settings settings) {
    this.settings = settings;
  }

  /** Creates a verifier without skipped records and without permitted repetitions. */
  public Verifier(KafkaConnection kafka, Duration window, Duration lateness, Duration timeout) {
    this(
        new Settings(
            kafka,
            window,
            lateness,
            timeout,
            Set.of(),
            false,
            Path.of(System.getProperty("java.io.tmpdir"))));
  }

  /**
   * Verifies the windows that start in {@code [from, to)}.
   *
   * @param client the client to verify; null for all clients
   * @throws IOException if the disk cannot hold the intermediate data
   */
  public Verification verify(
      Instant from, Instant to, @Nullable String client, ReadProgress progress) throws IOException {
    Range range = Range.of(from, to, settings.window().toMillis(), client);
    long deadlineNanos = System.nanoTime() + settings.timeout().toNanos();
    Verification found = null;
    for (int attempt = 1; found == null; attempt++) {
      try (Pass pass = new Pass(range, progress)) {
        found = pass.run(deadlineNanos);
        if (found.differenceCount() > 0 && attempt < ATTEMPTS && pass.hasLogMoved()) {
          found = null;
        }
      }
    }
    return found;
  }

  /** One pass over all topics. */
  private final class Pass implements AutoCloseable {
    private final VerifyData data;
    private final ReadProgress progress;
    private final TopicReader calls;
    private final Map<Integer, Long> callEnds;

    Pass(Range range, ReadProgress progress) throws IOException {
      this.progress = progress;
      calls = TopicReader.ofClient(settings.kafka(), Topics.CALLS, range.client());
      callEnds = calls.ends();
      data = new VerifyData(range, settings.mayRepeat(), settings.scratch());
    }

    Verification run(long deadlineNanos) throws IOException {
      readState(deadlineNanos);
      readLedger();
      readQuarantine();
      return new LedgerComparison(
              data, recount(), System.currentTimeMillis(), calls.begins(), callEnds)
          .run();
    }

    private void readState(long deadlineNanos) {
      try (TopicReader topic = reader(Topics.STATE)) {
        topic.read("state", data.state::add, progress);
        while (!isCounted() && System.nanoTime() - deadlineNanos < 0) {
          topic.follow(data.state::add);
        }
      }
    }

    private boolean isCounted() {
      return callEnds.entrySet().stream()
          .allMatch(end -> data.state.countedOffset(end.getKey()) >= end.getValue() - 1);
    }

    /** Returns a reader of a topic, restricted to the partitions in {@code callEnds}. */
    private TopicReader reader(Topic topic) {
      return new TopicReader(settings.kafka(), topic, callEnds::containsKey);
    }

    private void readLedger() {
      try (TopicReader topic = reader(Topics.LEDGER)) {
        topic.read("ledger", data.ledger::add, progress);
      }
    }

    private void readQuarantine() {
      try (TopicReader topic = reader(Topics.QUARANTINE)) {
        topic
            .begins()
            .forEach(
                (partition, begin) -> {
                  if (begin > 0) {
                    data.quarantine.expired(partition);
                  }
                });
        topic.read(
            "quarantine",
            record -> {
              if (Replays.isMarker(record)) {
                data.replays.addMarker(record);
              } else {
                data.quarantine.add(record);
              }
            },
            progress);
      }
    }

    private CallRecount recount() throws IOException {
      try (CallRecount recount =
          new CallRecount(
              data, settings.lateness().toMillis(), calls.partitionCount(), settings.givenUp())) {
        Map<Integer, Long> ends = new HashMap<>();
        callEnds.keySet().forEach(part -> ends.put(part, data.state.countedOffset(part) + 1));
        long size = calls.size(ends);
        calls.read(ends, recount::add, done -> progress.step("calls", done, size));
        recount.finish();
        data.quarantine.finish(calls.begins(), ends);
        data.replays.finish(calls.begins(), ends);
        return recount;
      }
    }

    boolean hasLogMoved() {
      return !calls.ends().equals(callEnds);
    }

    @Override
    public void close() throws IOException {
      calls.close();
      data.close();
    }
  }
}
