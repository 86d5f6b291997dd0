// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares the ledger, the state topic and the quarantine with a recount of the calls, window by
 * window. Memory does not grow with the number of calls: a folder on disk holds the intermediate
 * data, and is deleted at the end.
 *
 * <p>Calls may arrive during the verification, so the topics are read in a fixed order. First the
 * state topic is read until all calls in the log at the beginning are counted. Then the ledger and
 * the quarantine are read to their ends. Finally exactly those calls are read that the state topic
 * has as counted. A later call can cause a difference only if it is late; then everything is read
 * again.
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

  /** Returns the earliest start of a window at or after a time, in epoch milliseconds. */
  public static long windowStartAtOrAfter(Instant time, long windowMillis) {
    return -Math.floorDiv(-time.toEpochMilli(), windowMillis) * windowMillis;
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
    private final Range range;
    private final ReadProgress progress;
    private final Differences differences = new Differences();
    private final Scratch scratch;
    private final Accounts accounts;
    private final Adjustments adjustments;
    private final Closes closes;
    private final QuarantineRecords quarantine;
    private final Replays replays;
    private final LedgerRows ledger;
    private final StateFigures state;
    private final TopicReader calls;
    private final IntPredicate wanted;
    private final Map<Integer, Long> callEnds;

    Pass(Range range, ReadProgress progress) throws IOException {
      this.range = range;
      this.progress = progress;
      KafkaConnection kafka = settings.kafka();
      String client = range.client();
      int partitions = partitions(kafka);
      wanted = p -> client == null || ClientPartitioner.partition(client, partitions) == p;
      calls = new TopicReader(kafka, Topics.CALLS, wanted);
      callEnds = calls.ends();
      scratch = Scratch.create(settings.scratch());
      accounts = new Accounts(scratch);
      adjustments = new Adjustments(scratch);
      closes = new Closes(scratch, differences);
      quarantine = new QuarantineRecords(scratch, settings.mayRepeat(), differences);
      replays = new Replays(scratch, differences);
      ledger =
          new LedgerRows(
              range.windowMillis(),
              range,
              settings.mayRepeat(),
              scratch,
              accounts,
              adjustments,
              closes,
              differences);
      state = new StateFigures(range.windowMillis(), range, accounts, differences);
    }

    Verification run(long deadlineNanos) throws IOException {
      readState(deadlineNanos);
      readLedger();
      readQuarantine();
      CallRecount recount = recount();
      return new LedgerComparison(
              range,
              System.currentTimeMillis(),
              calls.begins(),
              callEnds,
              state,
              ledger,
              recount,
              accounts,
              adjustments,
              differences)
          .run();
    }

    private void readState(long deadlineNanos) {
      try (TopicReader topic = new TopicReader(settings.kafka(), Topics.STATE, wanted)) {
        Map<Integer, Long> ends = topic.ends();
        long size = topic.size(ends);
        topic.read(ends, state::add, done -> progress.step("state", done, size));
        while (!isCounted() && System.nanoTime() - deadlineNanos < 0) {
          topic.follow(state::add);
        }
      }
    }

    private boolean isCounted() {
      return callEnds.entrySet().stream()
          .allMatch(end -> state.countedOffset(end.getKey()) >= end.getValue() - 1);
    }

    private void readLedger() {
      try (TopicReader topic = new TopicReader(settings.kafka(), Topics.LEDGER, wanted)) {
        Map<Integer, Long> ends = topic.ends();
        long size = topic.size(ends);
        topic.read(ends, ledger::add, done -> progress.step("ledger", done, size));
      }
    }

    private void readQuarantine() {
      try (TopicReader topic = new TopicReader(settings.kafka(), Topics.QUARANTINE, wanted)) {
        topic
            .begins()
            .forEach(
                (partition, begin) -> {
                  if (begin > 0) {
                    quarantine.expired(partition);
                  }
                });
        Map<Integer, Long> ends = topic.ends();
        long size = topic.size(ends);
        topic.read(
            ends,
            record -> {
              if (Replays.isMarker(record)) {
                replays.addMarker(record);
              } else {
                quarantine.add(record);
              }
            },
            done -> progress.step("quarantine", done, size));
      }
    }

    private CallRecount recount() throws IOException {
      try (CallRecount recount =
          new CallRecount(
              range.windowMillis(),
              settings.lateness().toMillis(),
              calls.partitionCount(),
              settings.givenUp(),
              scratch,
              accounts,
              adjustments,
              closes,
              quarantine,
              replays,
              differences)) {
        Map<Integer, Long> ends = new HashMap<>();
        callEnds.keySet().forEach(part -> ends.put(part, state.countedOffset(part) + 1));
        long size = calls.size(ends);
        calls.read(ends, recount::add, done -> progress.step("calls", done, size));
        recount.finish();
        quarantine.finish(calls.begins(), ends);
        replays.finish(calls.begins(), ends);
        return recount;
      }
    }

    /** Returns whether calls were written since the verification began. */
    boolean hasLogMoved() {
      return !calls.ends().equals(callEnds);
    }

    @Override
    public void close() throws IOException {
      calls.close();
      scratch.close();
    }
  }

  private static int partitions(KafkaConnection kafka) {
    try (KafkaConsumer<byte[], byte[]> consumer =
        kafka.consumer(Map.of("default.api.timeout.ms", 20_000))) {
      int partitions = consumer.partitionsFor(Topics.CALLS.name()).size();
      if (partitions == 0) {
        throw TopicReader.missing(Topics.CALLS);
      }
      return partitions;
    }
  }
}
