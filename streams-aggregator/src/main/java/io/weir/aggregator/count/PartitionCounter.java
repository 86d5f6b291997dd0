// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.audit.BucketReconciler;
import io.weir.aggregator.state.Budget;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.watermark.Interval;
import io.weir.aggregator.watermark.LineArrival;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.QuarantineHeaders;
import io.weir.topics.wire.ReplayCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The counter of one partition of the calls topic. The counter refuses invalid records, drops lines
 * that have arrived before, and counts all other lines. The counter advances the watermark and
 * closes windows. The counter passes reported losses of the decision cache to the audit. Not
 * thread-safe.
 *
 * <p>Every received line increases exactly one of four counters: received = counted + duplicate +
 * late-adjusted + quarantined.
 */
public final class PartitionCounter {
  /**
   * Maximum number of pending boundaries. Above this maximum, the counter writes the rows of all
   * pending boundaries before the next record.
   */
  private static final int MAX_PENDING_CLOSES = 64;

  private static final String TOO_OLD =
      " of its journal" + QuarantineHeaders.TOO_OLD_FOR_DUPLICATE_DETECTION;

  private static final byte[] CACHE_LOSS = CacheLossCodec.TYPE.getBytes(StandardCharsets.US_ASCII);

  /**
   * Maximum number of changed rows and audits that are only in memory. They take at most about 12
   * MB.
   */
  private static final int MAX_UNSAVED = 10_000;

  private final int partition;
  private final CountSettings settings;
  private final Stores stores;
  private final CountOutput output;
  private final PartitionState state;
  private final NodeWatermarks nodes;
  private final SettledCalls settled;
  private final WindowRows rows;
  private final Ledger ledger;
  private final RunningFigures figures;
  private final BucketReconciler reconciler;
  private final LineCounter counter;
  private final CallBatchReader lines = new CallBatchReader();
  private final Packer packer = new Packer();

  /** Whether changes of records are only in memory. */
  private boolean isUnsaved;

  /**
   * The stores of a partition.
   *
   * @param open rows of open windows
   * @param closed rows of closed windows
   * @param progress the state of the partition and of its nodes
   * @param buckets the audit state of the decision cache's live buckets
   * @param ids the ids that clients chose, the settled calls, and the refused lines
   */
  public record Stores(
      ByteStore open, ByteStore closed, ByteStore progress, ByteStore buckets, SeenIds ids) {}

  /**
   * Creates a counter that continues from the stored state.
   *
   * @param partition the partition
   * @param partitions the number of partitions
   * @param settings the settings of the counting rules
   * @param stores the stores of the partition
   * @param output receives the records to write
   * @param partitionOfClient maps a client to its partition, as all modules do
   * @param clockEpochMillis the clock for the creation time of rows; it has no other use
   */
  public PartitionCounter(
      int partition,
      int partitions,
      CountSettings settings,
      Stores stores,
      CountOutput output,
      ToIntFunction<String> partitionOfClient,
      LongSupplier clockEpochMillis) {
    this.partition = partition;
    this.settings = settings;
    this.stores = stores;
    this.output = output;
    this.state = PartitionState.load(stores.progress(), settings);
    this.nodes =
        new NodeWatermarks(settings.maxHoldMillis(), settings.latenessMillis(), stores.progress());
    this.settled = new SettledCalls(stores.ids(), nodes);
    OpenRows open = new OpenRows(stores.open());
    this.ledger =
        new Ledger(partition, settings, open, stores.closed(), state, output, clockEpochMillis);
    EndpointRows endpoints =
        new EndpointRows(stores.open(), stores.closed(), settings.maxEndpoints());
    this.rows = new WindowRows(settings, open, endpoints, ledger, nodes, state);
    this.reconciler =
        new BucketReconciler(
            partition, partitions, stores.buckets(), stores.progress(), state, output);
    this.counter =
        new LineCounter(
            new EventCheck(partition, settings, partitionOfClient, state),
            settled,
            new CallerIds(stores.ids(), state),
            rows,
            reconciler,
            state,
            output);
    this.figures = new RunningFigures(settings, open, state, output, this::progress);
  }

  /**
   * Moves the next record of the partition to the quarantine without examining it. An operator has
   * requested this move, because the record makes the code fail.
   */
  public void giveUp(SourceRecord record, String reason) {
    begin(record);
    refuse(record, reason);
    recordTaken();
  }

  /** Counts the next record of the partition. */
  public void take(SourceRecord record) {
    begin(record);
    try {
      if (isCacheLoss(record)) {
        CacheLoss loss = CacheLossCodec.decode(value(record));
        state.observe(record.appendEpochMillis(), loss.foundAtEpochMillis(), settings);
        reconciler.beginRestoration(loss);
      } else {
        BatchHeader header = BatchHeaderCodec.decode(record.headers());
        state.observe(record.appendEpochMillis(), header.lowWatermarkEpochMillis(), settings);
        takeBatch(header, ReplayCodec.decode(record.headers()), record);
      }
    } catch (MalformedRecordException unreadable) {
      refuse(record, String.valueOf(unreadable.getMessage()));
    }
    recordTaken();
  }

  private void recordTaken() {
    reconciler.publishDue();
    state.counters(); // throws before the state becomes durable if the equation does not hold
    isUnsaved = true;
    if (rows.unsaved() + reconciler.unsaved() > MAX_UNSAVED) {
      flush();
    }
  }

  /**
   * Stores the state that has changed. Between two calls, changed rows and audits are only in
   * memory, because a row usually changes many times before a commit. Must be called before each
   * commit.
   */
  public void flush() {
    if (isUnsaved) {
      isUnsaved = false;
      rows.save();
      reconciler.save();
      state.save(stores.progress(), settings, packer);
    }
  }

  /** Stores the offset of a record. */
  private void begin(SourceRecord record) {
    if (state.offset < 0) {
      state.beginsWith(record);
    }
    state.offset = record.offset();
  }

  /** Returns the value of a record; an empty value if the record has none. */
  private static byte[] value(SourceRecord record) {
    byte[] value = record.value();
    return value == null ? new byte[0] : value;
  }

  private static boolean isCacheLoss(SourceRecord record) {
    byte[] type = record.headers().apply(BatchHeaderCodec.TYPE_HEADER);
    return type != null && Arrays.equals(type, CACHE_LOSS);
  }

  /** Writes rows of closed windows. Returns whether all rows of closed windows are written. */
  public boolean close(Budget budget) {
    if (state.pending.isEmpty()) {
      return true;
    }
    flush(); // the ledger reads the rows from the store
    boolean done = ledger.close(budget);
    isUnsaved = true;
    return done;
  }

  /**
   * Publishes the figures of open windows and the progress. Returns whether the round is complete.
   */
  public boolean publish(Budget budget) {
    flush();
    return figures.publish(budget);
  }

  /** Publishes the accuracy figures of the cache if they have changed. */
  public void publishAccuracy() {
    flush();
    reconciler.publishAccuracy(state.appendEpochMillis);
  }

  /** Continues the restoration of a cache. Returns whether no work is left at present. */
  public boolean restore(Budget budget) {
    flush();
    return reconciler.continueRestoration(budget);
  }

  /**
   * Checks live buckets for charges that were never recorded. Returns whether all due buckets are
   * checked.
   */
  public boolean sweep(Budget budget) {
    flush();
    return reconciler.sweep(budget);
  }

  /**
   * Deletes closed rows that no accepted call can change. Returns whether the deletion is complete.
   */
  public boolean forget(int maxRows) {
    return ledger.forget(maxRows);
  }

  /** Returns the offset after the last counted record, or −1 if no record was counted. */
  public long nextOffset() {
    return state.offset < 0 ? -1 : state.offset + 1;
  }

  /**
   * Returns the latest broker's time of all counted records. A time too far after the newest low
   * watermark of all nodes is reduced.
   */
  public long timeEpochMillis() {
    return state.appendEpochMillis;
  }

  /** Returns the progress of the partition. */
  public PartitionProgress progress() {
    return new PartitionProgress(
        partition,
        state.offset,
        state.watermarkEpochMillis,
        state.closedThroughEpochMillis,
        state.newestLowWatermarkEpochMillis,
        state.counters(),
        state.idConflicts,
        state.periodConflicts,
        state.inOtherRows,
        state.inOtherRows == 0 ? 0 : settings.maxEndpoints(),
        nodes.nodes(state.newestLowWatermarkEpochMillis),
        nodes.possibleGapsBefore(
            state.closedThroughEpochMillis, state.newestLowWatermarkEpochMillis));
  }

  private void takeBatch(BatchHeader header, @Nullable Replay replay, SourceRecord record)
      throws MalformedRecordException {
    int count = lines.read(value(record));
    if (count != header.count()) {
      refuse(record, "the header says " + header.count() + " lines, but the value has " + count);
      return;
    }
    if (replay != null && !replay.isWhole()) {
      takeReplayedLines(header, replay);
      return;
    }
    if (!header.isHeartbeat()) {
      switch (nodes.judge(header)) {
        case SEEN -> {
          state.received += header.count();
          state.duplicate += header.count();
          writeReplayed(replay);
          return;
        }
        case FORGOTTEN -> {
          refuse(record, "line " + header.linesEnd() + TOO_OLD);
          return;
        }
        case NEW -> takeLines(header, line -> LineArrival.NEW);
        case MIXED -> takeLines(header, line -> nodes.judge(header, header.linesBefore() + line));
      }
    }
    long lowWatermark =
        nodes.note(header, state.appendEpochMillis, state.mayLackRecordsSince(header.nodeEpoch()));
    state.newestLowWatermarkEpochMillis =
        Math.max(state.newestLowWatermarkEpochMillis, lowWatermark);
    writeReplayed(replay);
    rows.adjust();
    advance();
  }

  private void writeReplayed(@Nullable Replay whole) {
    if (whole != null) {
      output.replayed(whole, List.of());
    }
  }

  /**
   * Counts replayed lines, which were refused before. Does not record their positions as arrived,
   * because the positions are already recorded, or the aggregator no longer waits for the journal.
   */
  private void takeReplayedLines(BatchHeader header, Replay replay) {
    List<Integer> counted = new ArrayList<>();
    for (int line = 1; line <= lines.count(); line++) {
      state.received++;
      UsagePosition position = position(header, line);
      switch (settled.judgeReplayed(position, state.appendEpochMillis)) {
        case SEEN -> {
          state.duplicate++;
          counted.add(replay.firstLine() + line - 1);
        }
        case FORGOTTEN, MIXED -> refuseLine(line, "line " + line + TOO_OLD);
        case NEW -> {
          String reason = counter.count(lines, line, position, null);
          if (reason == null) {
            settled.replayed(position, state.appendEpochMillis);
            counted.add(replay.firstLine() + line - 1);
          } else {
            refuseLine(line, reason);
          }
        }
      }
    }
    if (!counted.isEmpty()) {
      output.replayed(replay, counted);
    }
    rows.adjust();
  }

  /**
   * Counts the lines of a batch.
   *
   * @param judge returns whether a line has arrived before; its argument is the number of the line
   *     in the batch, from 1
   */
  private void takeLines(BatchHeader header, IntFunction<LineArrival> judge) {
    for (int line = 1; line <= lines.count(); line++) {
      state.received++;
      String reason =
          switch (judge.apply(line)) {
            case SEEN -> {
              state.duplicate++;
              yield null;
            }
            case FORGOTTEN, MIXED -> "line " + line + TOO_OLD;
            case NEW -> counter.count(lines, line, position(header, line), header);
          };
      if (reason != null) {
        refuseLine(line, reason);
      }
    }
  }

  private void refuseLine(int line, String reason) {
    state.quarantined++;
    output.quarantine(lines.only(line), line, reason);
  }

  private UsagePosition position(BatchHeader header, int line) {
    return new UsagePosition(
        partition, header.node(), header.nodeEpoch(), header.linesBefore() + line);
  }

  private void refuse(SourceRecord record, String reason) {
    long refused = isCacheLoss(record) ? 1 : Math.max(1, linesOf(record));
    state.received += refused;
    state.quarantined += refused;
    output.quarantine(value(record), 0, reason);
  }

  /**
   * Returns the number of lines of a record; 0 if the value is not a batch. Also returns 0 if the
   * reader throws another exception, because {@link #giveUp} must work for every record.
   */
  private int linesOf(SourceRecord record) {
    try {
      return lines.read(value(record));
    } catch (MalformedRecordException | RuntimeException notABatch) {
      return 0;
    }
  }

  /**
   * Advances the watermark. Adds a pending boundary if the watermark closes at least one window.
   */
  private void advance() {
    long watermark = nodes.watermark(state.newestLowWatermarkEpochMillis);
    if (watermark <= state.watermarkEpochMillis) {
      return;
    }
    state.watermarkEpochMillis = watermark;
    long before = state.boundaryEpochMillis();
    long boundary = settings.boundaryAtOrBefore(Math.max(0, watermark - settings.graceMillis()));
    if (boundary <= before) {
      return;
    }
    Interval gap = null;
    for (Interval one : nodes.possibleGaps(state.newestLowWatermarkEpochMillis)) {
      if (one.overlaps(before, boundary)) {
        gap = Interval.hull(gap, one);
      }
    }
    state.pending.addLast(new PendingClose(boundary, state.appendEpochMillis, gap));
    if (state.pending.size() > MAX_PENDING_CLOSES) {
      rows.save();
      ledger.close(() -> false);
    }
  }
}
