// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import io.weir.ingest.record.journal.Journal;
import io.weir.ingest.record.journal.JournalException;
import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the sealed batches of all partitions and the heartbeats, and retries until Kafka
 * acknowledges them. Confined to the recording thread. The producer's callbacks may run on any
 * thread, because they only add results to a queue.
 */
final class BatchSender {
  /** Maximum number of bytes in flight. Further batches wait in the journal. */
  static final long MAX_IN_FLIGHT_BYTES = 32L * 1024 * 1024;

  /**
   * Pause after a failure. The pause doubles with each further failure, up to 1.6 s. Longer pauses
   * would delay the close of windows, which wait for the failed batch. The Kafka client itself
   * handles failures that allow an immediate retry.
   */
  private static final long RETRY_NANOS = 200_000_000;

  private static final int MAX_DOUBLINGS = 3;

  /** Pause after the journal could not read a batch. Other partitions continue meanwhile. */
  private static final long UNREADABLE_NANOS = 10_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(BatchSender.class);

  private static final byte[] NO_LINES = {};

  private final Journal journal;
  private final List<PartitionBuffer> buffers;
  private final BatchSealer sealer;
  private final RecordStatistics statistics;
  private final ProducerConnector connector;
  private final Runnable wakeUp;
  private final LocalClock clock;
  private final Queue<Result> results = new ConcurrentLinkedQueue<>();
  private long inFlightBytes;
  private int firstBuffer;

  BatchSender(
      Journal journal,
      List<PartitionBuffer> buffers,
      BatchSealer sealer,
      RecordStatistics statistics,
      ProducerConnector connector,
      Runnable wakeUp,
      LocalClock clock) {
    this.journal = journal;
    this.buffers = buffers;
    this.sealer = sealer;
    this.statistics = statistics;
    this.connector = connector;
    this.wakeUp = wakeUp;
    this.clock = clock;
  }

  /**
   * The result of a send.
   *
   * @param producer the producer that was used
   * @param batch the batch; null for a heartbeat
   * @param bytes size of the batch in bytes
   * @param failure null when Kafka has acknowledged the send
   */
  private record Result(
      BatchProducer producer,
      PartitionBuffer buffer,
      @Nullable SealedBatch batch,
      int bytes,
      BatchProducer.@Nullable Failure failure) {}

  /** Processes all results that have arrived. */
  void processResults() throws JournalException {
    List<BatchManifest> acked = new ArrayList<>();
    boolean isAnyAcked = false;
    for (Result result = results.poll(); result != null; result = results.poll()) {
      if (result.producer() != connector.current()) {
        continue; // the batch was abandoned with its producer and will be sent again
      }
      inFlightBytes -= result.bytes();
      BatchProducer.Failure failure = result.failure();
      if (failure != null) {
        processFailure(result, failure);
        continue;
      }
      SealedBatch batch = result.batch();
      if (batch == null) {
        result.buffer().heartbeatAcked();
        statistics.heartbeats.increment();
      } else if (result.buffer().batchAcked(batch)) {
        sealer.release(batch);
        statistics.acked(batch.manifest());
        acked.add(batch.manifest());
      } else {
        statistics.retriedBatches.increment();
      }
      isAnyAcked = true;
    }
    if (isAnyAcked
        && connector.hasFailed()
        && buffers.stream().allMatch(buffer -> buffer.failuresInARow() == 0)) {
      connector.reportRecovery();
    }
    if (!acked.isEmpty()) {
      journal.acknowledge(acked);
    }
  }

  private void processFailure(Result result, BatchProducer.Failure failure) {
    PartitionBuffer buffer = result.buffer();
    if (failure.isFatal()) {
      buffer.attemptFailed();
      replaceProducer(failure.detail());
      return;
    }
    connector.reportFailure(failure.detail());
    if (result.batch() == null) {
      buffer.heartbeatFailed();
    } else {
      buffer.batchFailed();
      statistics.retriedBatches.increment();
    }
    int doublings = Math.min(buffer.failuresInARow() - 1, MAX_DOUBLINGS);
    buffer.notBefore(clock.nowNanos() + (RETRY_NANOS << doublings));
  }

  /**
   * Replaces the producer, and abandons all batches and heartbeats in flight. The next producer
   * sends the batches again.
   */
  void replaceProducer(String reason) {
    for (PartitionBuffer buffer : buffers) {
      statistics.retriedBatches.increment(buffer.inFlight());
      buffer.abandonInFlight();
    }
    inFlightBytes = 0;
    connector.replace(reason);
  }

  /** Sends the due sealed batches, one of each partition in turn. */
  void sendBatches() {
    BatchProducer producer = connector.producer();
    if (producer == null) {
      return;
    }
    // start with a different partition each time, so that no partition starves if only a few
    // batches fit
    firstBuffer = (firstBuffer + 1) % buffers.size();
    boolean isAnySent = true;
    while (isAnySent) {
      isAnySent = false;
      for (int i = 0; i < buffers.size(); i++) {
        if (sendNext(producer, buffers.get((firstBuffer + i) % buffers.size()))) {
          isAnySent = true;
          if (hasFailure()) {
            // The send failed immediately, for example because the topic is unknown. The next
            // batch must not overtake the failed batch.
            return;
          }
        }
      }
    }
  }

  private boolean hasFailure() {
    for (Result result : results) {
      if (result.failure() != null) {
        return true;
      }
    }
    return false;
  }

  private boolean sendNext(BatchProducer producer, PartitionBuffer buffer) {
    SealedBatch batch = buffer.nextToSend();
    if (batch == null || isTooEarly(buffer)) {
      return false;
    }
    BatchManifest manifest = batch.manifest();
    if (inFlightBytes > 0 && inFlightBytes + manifest.bytes() > MAX_IN_FLIGHT_BYTES) {
      return false;
    }
    if (manifest.isFinalHeartbeat() && !buffer.isAnnounced(manifest)) {
      if (buffer.isHeartbeatInFlight()) {
        return false;
      }
      announceEpoch(producer, buffer, manifest);
      return true;
    }
    byte[] lines = batch.lines();
    if (lines == null) {
      try {
        lines = journal.read(manifest);
      } catch (JournalException unreadable) {
        buffer.attemptFailed();
        buffer.notBefore(clock.nowNanos() + UNREADABLE_NANOS);
        connector.setDetail("partition " + buffer.partition() + ": " + unreadable.getMessage());
        LOG.error(
            "journal_failed partition={} detail=\"{}\"; Weir retries",
            buffer.partition(),
            unreadable.getMessage(),
            unreadable);
        return false;
      }
    }
    buffer.batchSent();
    send(producer, buffer, batch, manifest.header(journal.identity().node()), lines);
    return true;
  }

  /**
   * Announces the current epoch to the aggregator with a heartbeat that carries the old epoch's low
   * watermark. From then on the aggregator waits for the new epoch's low watermark, and so keeps
   * windows open for unsent lines. The old epoch's final heartbeat follows after Kafka has
   * acknowledged the announcement.
   */
  private void announceEpoch(
      BatchProducer producer, PartitionBuffer buffer, BatchManifest finalHeartbeat) {
    buffer.announcementSent(finalHeartbeat, clock.nowNanos());
    sendHeartbeat(
        producer,
        buffer,
        finalHeartbeat.batchSequence() - 1,
        finalHeartbeat.lowWatermarkEpochMillis(),
        buffer.linesBeforeEpoch(),
        false);
  }

  /**
   * Sends a heartbeat to each partition that has no unacknowledged lines and no heartbeat in
   * flight.
   *
   * @param advancedEpochMillis the low watermark, determined before this call. A partition with
   *     lines that became pending since then gets no heartbeat
   * @param departing whether these are the final heartbeats
   */
  void sendHeartbeats(long advancedEpochMillis, boolean departing) {
    BatchProducer producer = connector.producer();
    if (producer == null) {
      return;
    }
    for (PartitionBuffer buffer : buffers) {
      if (!buffer.isDrained() || buffer.isHeartbeatInFlight() || isTooEarly(buffer)) {
        continue;
      }
      long carried = Math.max(advancedEpochMillis, buffer.lowWatermarkEpochMillis());
      buffer.heartbeatSent(carried, clock.nowNanos());
      statistics.lowWatermark(buffer.partition(), carried);
      sendHeartbeat(
          producer, buffer, buffer.sealedBatches(), carried, buffer.sealedLines(), departing);
    }
  }

  private void sendHeartbeat(
      BatchProducer producer,
      PartitionBuffer buffer,
      long batchSequence,
      long lowWatermarkEpochMillis,
      long linesBefore,
      boolean departing) {
    BatchHeader header =
        new BatchHeader(
            journal.identity().node(),
            buffer.epoch(),
            batchSequence,
            0,
            lowWatermarkEpochMillis,
            linesBefore,
            buffer.linesBeforeEpoch(),
            departing);
    send(producer, buffer, null, header, NO_LINES);
  }

  private boolean isTooEarly(PartitionBuffer buffer) {
    return clock.nowNanos() - buffer.notBeforeNanos() < 0;
  }

  private void send(
      BatchProducer producer,
      PartitionBuffer buffer,
      @Nullable SealedBatch batch,
      BatchHeader header,
      byte[] lines) {
    inFlightBytes += lines.length;
    producer.send(
        buffer.partition(),
        header,
        lines,
        failure -> {
          results.add(new Result(producer, buffer, batch, lines.length, failure));
          wakeUp.run();
        });
  }

  /** Returns whether a heartbeat is in flight in any partition. */
  boolean isHeartbeatInFlight() {
    return buffers.stream().anyMatch(PartitionBuffer::isHeartbeatInFlight);
  }
}
