// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.aggregator.table.TableObserver;
import io.weir.aggregator.table.TableStore;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rankings of all partitions in the table. A ranking contains the clients and endpoints with
 * the greatest usage in the newest windows. Rankings are not stored. After a start, the process
 * computes the rankings from the table in the background. Thread-safe, but only the thread of the
 * table's follower may call the methods of {@link TableObserver}.
 */
public final class Rankings implements TableObserver {
  private static final Logger LOG = LoggerFactory.getLogger(Rankings.class);

  private final TableStore store;
  private final long windowMillis;
  private final int windows;
  private final Map<Integer, PartitionRanking> partitions = new ConcurrentHashMap<>();

  /**
   * Creates rankings without partitions.
   *
   * @param store the table
   * @param window length of a ledger window
   * @param ranked number of ranked windows, including the current window; positive
   * @param maxAhead maximum time by which a call's decision time may be later than the broker's
   *     time; the rankings keep windows longer by this time
   */
  public Rankings(TableStore store, Duration window, int ranked, Duration maxAhead) {
    this.store = store;
    this.windowMillis = window.toMillis();
    long aheadWindows = (maxAhead.toMillis() + windowMillis - 1) / windowMillis;
    // one more window, because the clock of the queried instance defines the current window
    this.windows = Math.toIntExact(ranked + aheadWindows + 1);
  }

  /** Adds the metrics of the rankings. */
  public void register(MeterRegistry registry) {
    Gauge.builder("weir.ranked.partitions", this, Rankings::read)
        .description("partitions whose heaviest clients and endpoints this instance can report")
        .register(registry);
    Gauge.builder("weir.ranking.partitions", this, all -> all.partitions.size() - all.read())
        .description(
            "partitions whose rows this instance is still reading to rank clients and endpoints")
        .register(registry);
    Gauge.builder("weir.ranked.names", this, Rankings::names)
        .description("names in memory in the sketches of all partitions and windows")
        .register(registry);
  }

  private long read() {
    return partitions.values().stream().filter(PartitionRanking::isRead).count();
  }

  private long names() {
    return partitions.values().stream().mapToLong(PartitionRanking::size).sum();
  }

  /**
   * Returns the greatest figures of a partition. Returns empty if this instance does not follow the
   * partition, is still reading it, or has removed a selected window.
   */
  public Optional<PartitionWeights> weights(int partition, RankingSelection selection) {
    return Optional.ofNullable(partitions.get(partition))
        .flatMap(ranking -> ranking.weights(selection));
  }

  @Override
  public void begin(int partition) {
    partitions.put(
        partition,
        new PartitionRanking(partition, store, windowMillis, windows, closedThrough(partition)));
  }

  /**
   * Returns the end of the last closed window, or 0 if it is unknown. The ranking uses this time to
   * skip windows that are too old.
   */
  private long closedThrough(int partition) {
    byte[] progress =
        store.get(
            partition, PartitionProgressCodec.key(partition).getBytes(StandardCharsets.UTF_8));
    try {
      return progress == null
          ? 0
          : PartitionProgressCodec.decode(progress).closedThroughEpochMillis();
    } catch (MalformedRecordException malformed) {
      LOG.warn(
          "the state topic has a malformed progress record partition={}", partition, malformed);
      return 0;
    }
  }

  @Override
  public void end(int partition) {
    partitions.remove(partition);
  }

  @Override
  public void change(int partition, byte[] key, byte @Nullable [] value) {
    PartitionRanking ranking = partitions.get(partition);
    if (ranking != null) {
      ranking.change(key, value);
    }
  }

  /** Continues to read the rows of a partition for which {@link #begin} was called. */
  boolean read(int partition, BooleanSupplier isEnough) {
    PartitionRanking ranking = Objects.requireNonNull(partitions.get(partition));
    boolean isLeft = ranking.read(isEnough);
    if (!isLeft) {
      LOG.info("heaviest clients and endpoints are ranked for partition={}", partition);
    }
    return isLeft;
  }

  @Override
  public boolean work(long maxNanos) {
    long begunNanos = System.nanoTime();
    for (Map.Entry<Integer, PartitionRanking> one : partitions.entrySet()) {
      boolean isRead = one.getValue().isRead();
      if (!isRead && read(one.getKey(), () -> System.nanoTime() - begunNanos > maxNanos)) {
        return true;
      }
    }
    return false;
  }
}
