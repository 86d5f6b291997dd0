// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

import io.weir.cli.console.CommandFailedException;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.config.TopicConfig;
import org.jspecify.annotations.Nullable;

/**
 * Writes a tombstone for each row of a client in the state topic that is out of {@link Reach}. Then
 * reads the topic again to prove that none of these rows is left. Erased rows stay erased, so an
 * interrupted erasure can be repeated. Not thread-safe.
 */
public final class Erasure {
  /**
   * Maximum number of rows in memory, about 250 bytes each. A client with more rows than this needs
   * several passes.
   */
  private static final int MAX_ROWS = 500_000;

  /** Maximum wait until readers of committed records see the tombstones. */
  private static final Duration VISIBLE_TIMEOUT = Duration.ofMinutes(1);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Settings settings;
  private final ReadProgress progress;
  private final int maxRows;
  private @Nullable String unreadable;

  /**
   * The parameters of an erasure.
   *
   * @param kafka the connection to Kafka
   * @param client the client
   * @param lateness the maximum lateness of a call, as configured in the aggregators
   * @param dryRun whether to write nothing
   */
  public record Settings(KafkaConnection kafka, String client, Duration lateness, boolean dryRun) {}

  /** Creates an erasure. */
  public Erasure(Settings settings, ReadProgress progress) {
    this(settings, progress, MAX_ROWS);
  }

  Erasure(Settings settings, ReadProgress progress, int maxRows) {
    this.settings = settings;
    this.progress = progress;
    this.maxRows = maxRows;
  }

  /**
   * Erases the rows.
   *
   * @throws CommandFailedException if a topic is missing, Kafka refuses a tombstone, or the
   *     tombstones cannot be read back. Also thrown if a row of the client cannot be read; all
   *     other rows are erased then
   * @throws TopicAdminException if the topics cannot be described
   */
  public ErasureReport run() throws TopicAdminException {
    int partition;
    long heldMillis;
    try (TopicAdmin admin = TopicAdmin.connect(settings.kafka())) {
      int partitions = admin.callsPartitions();
      if (partitions == 0) {
        throw new CommandFailedException(
            "there is no topic "
                + Topics.CALLS.name()
                + "; 'weir topics create' creates Weir's topics");
      }
      partition = ClientPartitioner.partition(settings.client(), partitions);
      heldMillis = heldMillis(admin);
    }
    ErasureReport.Tally tally = new ErasureReport.Tally(partition);
    try (Tombstones tombstones =
        settings.dryRun() ? null : new Tombstones(settings.kafka(), partition)) {
      String from = "";
      do {
        from = eraseFrom(from, partition, heldMillis, tombstones, tally);
      } while (from != null);
    }
    if (unreadable != null) {
      throw new CommandFailedException(
          "a row of the client cannot be read and was not erased; all other rows were processed: "
              + unreadable);
    }
    return tally.report();
  }

  /**
   * Returns the maximum time for which the calls topic keeps a record. The result is the retention
   * plus the time that a segment may be open, because Kafka deletes whole segments.
   */
  private static long heldMillis(TopicAdmin admin) throws TopicAdminException {
    long retention = number(admin, TopicConfig.RETENTION_MS_CONFIG);
    long segment = number(admin, TopicConfig.SEGMENT_MS_CONFIG);
    if (retention < 0) {
      return Reach.FOR_EVER;
    }
    long sum = retention + segment;
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  private static long number(TopicAdmin admin, String name) throws TopicAdminException {
    String value = admin.setting(Topics.CALLS, name);
    return value == null ? Reach.FOR_EVER : Long.parseLong(value);
  }

  private Reach reach(ClientRows found, int partition, long heldMillis) {
    try (TopicReader calls =
        new TopicReader(settings.kafka(), Topics.CALLS, one -> one == partition)) {
      return new Reach(
          settings.lateness().toMillis(),
          found.countedThroughEpochMillis(),
          found.closedThroughEpochMillis(),
          calls.begins().getOrDefault(partition, 0L),
          calls.ends().getOrDefault(partition, Long.MAX_VALUE),
          heldMillis);
    }
  }

  /**
   * Erases as many rows as fit into memory.
   *
   * @return the key at which the next pass must start; null if no rows are left
   */
  private @Nullable String eraseFrom(
      String from,
      int partition,
      long heldMillis,
      @Nullable Tombstones tombstones,
      ErasureReport.Tally tally) {
    ClientRows found = read(from, partition, "reading", -1);
    unreadable = unreadable == null ? found.unreadable() : unreadable;
    Reach reach =
        reach(found, partition, heldMillis); // read after the rows, which may change meanwhile
    List<String> over = new ArrayList<>();
    for (Map.Entry<String, ClientRow> one : found.rows().entrySet()) {
      ClientRow row = one.getValue();
      if (reach.isOver(row)) {
        over.add(one.getKey());
        tally.over(row);
      } else {
        tally.inReach(row, reach.overAt(row));
      }
    }
    tally.countedThrough(found.countedThroughEpochMillis());
    if (tombstones != null && !over.isEmpty()) {
      prove(from, partition, over, write(over, tombstones));
    }
    return found.next();
  }

  private long write(List<String> keys, Tombstones tombstones) {
    int written = 0;
    for (String key : keys) {
      tombstones.write(key);
      progress.step("erasing", ++written, keys.size());
    }
    return tombstones.flush();
  }

  private void prove(String from, int partition, List<String> erased, long lastOffset) {
    NavigableMap<String, ClientRow> left = read(from, partition, "proving", lastOffset).rows();
    List<String> present = erased.stream().filter(left::containsKey).toList();
    if (!present.isEmpty()) {
      throw new CommandFailedException(
          present.size()
              + " of the erased rows exist again, the first is "
              + present.get(0)
              + "; their calls were counted during the erasure; check WEIR_LATENESS");
    }
  }

  private ClientRows read(String from, int partition, String what, long throughOffset) {
    ClientRows rows = new ClientRows(settings.client(), from, maxRows);
    try (TopicReader reader =
        new TopicReader(settings.kafka(), Topics.STATE, one -> one == partition)) {
      awaitVisible(reader, partition, throughOffset);
      reader.read(what, rows::take, progress);
    }
    return rows;
  }

  /**
   * Waits until readers of committed records see the given offset. An open transaction of the
   * aggregator can delay the readers for a moment.
   */
  private static void awaitVisible(TopicReader reader, int partition, long offset) {
    long until = System.nanoTime() + VISIBLE_TIMEOUT.toNanos();
    while (reader.ends().getOrDefault(partition, 0L) <= offset) {
      if (System.nanoTime() - until > 0) {
        throw new CommandFailedException(
            "the tombstones are written, but a transaction in "
                + Topics.STATE.name()
                + "-"
                + partition
                + " has been open for a minute and hides them from readers; run the command again"
                + " when it has ended");
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }
}
