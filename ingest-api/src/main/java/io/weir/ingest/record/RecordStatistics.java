// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.record.journal.BatchManifest;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of a call log since it was opened. Thread-safe.
 *
 * <p>Invariants: <b>calls submitted to the log = appended + refused + dropped</b>, and <b>found at
 * the start + appended = acked + held</b>. A call that timed out counts as both appended and
 * refused.
 */
public final class RecordStatistics {
  final Counter appendedLines;

  /** Writes to the journal. One write may append the calls of several callers. */
  final Counter groupCommits;

  final Counter sealedBatches;
  final Counter ackedBatches;
  final Counter ackedLines;

  /** Batches that were sent to Kafka again. */
  final Counter retriedBatches;

  final Counter heartbeats;

  /** Calls that were answered but not recorded, because the journal was full. */
  final Counter droppedCalls;

  /** Unexpected exceptions, after which the failed parts restarted. */
  final Counter faults;

  /** Calls that an earlier process left in the journal. */
  final Counter foundLines;

  private final Map<Recorded.Reason, Counter> refusedCalls = new EnumMap<>(Recorded.Reason.class);
  private final DistributionSummary batchCalls;
  private final DistributionSummary batchBytes;
  private final AtomicLong heldLines = new AtomicLong();
  private final AtomicLong heldBytes = new AtomicLong();
  private final AtomicLongArray lowWatermarks;
  private final LocalClock clock;

  /**
   * Time at which the oldest waiting call or heartbeat began to wait, in nanoseconds of the
   * monotonic clock; null if no call or heartbeat waits.
   */
  private volatile @Nullable Long oldestUnackedSince;

  private volatile LongSupplier oldestPendingNanos = () -> 0;

  RecordStatistics(int partitions, MeterRegistry registry, LocalClock clock) {
    this.clock = clock;
    lowWatermarks = new AtomicLongArray(partitions);
    appendedLines = counter(registry, "weir.log.appended.calls", "calls written to the journal");
    groupCommits = counter(registry, "weir.log.group.commits", "writes of calls to the journal");
    sealedBatches =
        counter(registry, "weir.log.sealed.batches", "batches sealed to be sent to Kafka");
    ackedBatches = counter(registry, "weir.log.acked.batches", "batches that Kafka acknowledged");
    ackedLines = counter(registry, "weir.log.acked.calls", "calls that Kafka acknowledged");
    retriedBatches =
        counter(registry, "weir.log.retried.batches", "batches passed to the Kafka client again");
    heartbeats = counter(registry, "weir.log.heartbeats", "heartbeats that Kafka acknowledged");
    droppedCalls =
        counter(
            registry,
            "weir.log.dropped.calls",
            "calls answered but not recorded (WEIR_WHEN_FULL=drop)");
    faults =
        counter(
            registry,
            "weir.log.faults",
            "exceptions that Weir did not expect, in recording threads; the failed part restarted");
    foundLines =
        counter(
            registry, "weir.log.found.calls", "calls that an earlier process left in the journal");
    for (Recorded.Reason reason : Recorded.Reason.values()) {
      refusedCalls.put(
          reason,
          Counter.builder("weir.log.refused.calls")
              .description("calls that could not be recorded")
              .tag("reason", reason.name().toLowerCase(Locale.ROOT))
              .register(registry));
    }
    batchCalls =
        DistributionSummary.builder("weir.log.batch.calls")
            .description("calls per sealed batch")
            .register(registry);
    batchBytes =
        DistributionSummary.builder("weir.log.batch.bytes")
            .description("bytes per sealed batch")
            .register(registry);
    gauge(
        registry,
        "weir.log.held.calls",
        "calls that Kafka has not acknowledged",
        RecordStatistics::heldLines);
    gauge(
        registry,
        "weir.log.journal.bytes",
        "bytes of the calls that Kafka has not acknowledged",
        RecordStatistics::journalBytes);
    gauge(
        registry,
        "weir.log.oldest.unacked.ms",
        "age of the oldest call or heartbeat that Kafka has not acknowledged, in milliseconds",
        RecordStatistics::oldestUnackedMillis);
    gauge(
        registry,
        "weir.topic.partitions",
        "partitions of the calls topic",
        RecordStatistics::partitions);
    for (int partition = 0; partition < partitions; partition++) {
      int each = partition;
      Gauge.builder(
              "weir.log.low.watermark.ms",
              this,
              statistics -> statistics.lowWatermarkEpochMillis(each))
          .description("newest low watermark of a partition, in milliseconds since 1970")
          .tag("partition", Integer.toString(partition))
          .register(registry);
    }
  }

  private static Counter counter(MeterRegistry registry, String name, String description) {
    return Counter.builder(name).description(description).register(registry);
  }

  private void gauge(
      MeterRegistry registry,
      String name,
      String description,
      ToDoubleFunction<RecordStatistics> value) {
    Gauge.builder(name, this, value).description(description).register(registry);
  }

  /** Returns the number of calls that Kafka has not acknowledged. */
  long heldLines() {
    return heldLines.get();
  }

  /**
   * Returns the number of bytes of unacknowledged calls. {@code maxJournalBytes} bounds this
   * number.
   */
  long journalBytes() {
    return heldBytes.get();
  }

  /**
   * Returns the age of the oldest unacknowledged call or heartbeat in milliseconds, counted in this
   * process. Returns 0 if there is no such call or heartbeat. The value grows even while the record
   * loop is stalled.
   */
  long oldestUnackedMillis() {
    Long since = oldestUnackedSince;
    long nanos = since == null ? 0 : clock.nowNanos() - since;
    return TimeUnit.NANOSECONDS.toMillis(Math.max(nanos, oldestPendingNanos.getAsLong()));
  }

  /** Returns the number of partitions of the calls topic. */
  public int partitions() {
    return lowWatermarks.length();
  }

  /**
   * Returns the newest low watermark of a partition, in milliseconds since the epoch; 0 if there is
   * none yet.
   */
  long lowWatermarkEpochMillis(int partition) {
    return lowWatermarks.get(partition);
  }

  void found(long lines, long bytes) {
    foundLines.increment((double) lines);
    heldLines.addAndGet(lines);
    heldBytes.addAndGet(bytes);
  }

  void appended(long lines, long bytes) {
    appendedLines.increment((double) lines);
    groupCommits.increment();
    heldLines.addAndGet(lines);
    heldBytes.addAndGet(bytes);
  }

  Counter refusedCalls(Recorded.Reason reason) {
    return Objects.requireNonNull(refusedCalls.get(reason));
  }

  void sealed(BatchManifest manifest) {
    sealedBatches.increment();
    batchCalls.record(manifest.count());
    batchBytes.record(manifest.bytes());
    lowWatermark(manifest.partition(), manifest.lowWatermarkEpochMillis());
  }

  void lowWatermark(int partition, long epochMillis) {
    lowWatermarks.set(partition, epochMillis);
  }

  void acked(BatchManifest manifest) {
    ackedBatches.increment();
    ackedLines.increment(manifest.count());
    heldLines.addAndGet(-manifest.count());
    heldBytes.addAndGet(-manifest.bytes());
  }

  /**
   * Sets a function that returns the age of the oldest pending call, which is in no batch yet.
   * {@link #oldestUnackedMillis} calls the function each time, because the record loop may stall
   * before it has processed the pending call.
   *
   * @param nanos returns the age in nanoseconds, or 0 if no call is pending; may run on any thread
   */
  void watchPending(LongSupplier nanos) {
    oldestPendingNanos = nanos;
  }

  /**
   * Records the age of the oldest unacknowledged call or heartbeat.
   *
   * @param ageNanos the age in nanoseconds; 0 if no call or heartbeat waits
   * @param nowNanos the time of the measurement by the monotonic clock
   */
  void oldestUnacked(long ageNanos, long nowNanos) {
    oldestUnackedSince = ageNanos == 0 ? null : nowNanos - ageNanos;
  }
}
