// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.ingest.clock.LocalClock;
import io.weir.limits.correction.Correction;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.process.LogPace;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the records of the corrections topic into a backlog. A malformed record is logged, counted
 * and skipped; tombstones and records of unknown kinds are ignored. Not thread-safe.
 */
final class CorrectionReader {
  /**
   * Minimum time between two log lines about malformed records. Metrics count every malformed
   * record.
   */
  private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final Logger LOG = LoggerFactory.getLogger(CorrectionReader.class);

  private static final Set<String> KINDS =
      Set.of(CorrectionCodec.TYPE, CorrectionCodec.RESTORED_TYPE);

  private final LimitsInForce limits;
  private final CorrectionStatistics statistics;
  private final LocalClock clock;
  private final LogPace logPace;

  /** Creates a reader that has read nothing. */
  CorrectionReader(LimitsInForce limits, CorrectionStatistics statistics, LocalClock clock) {
    this.limits = limits;
    this.statistics = statistics;
    this.clock = clock;
    this.logPace = new LogPace(clock.nanos(), LOG_NANOS);
  }

  /** Adds the content of a record to the backlog. */
  void read(ConsumerRecord<byte[], byte[]> record, CorrectionBacklog backlog) {
    String type = HeaderValues.text(record.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (record.value() == null || (type != null && !KINDS.contains(type))) {
      return;
    }
    statistics.read.increment();
    try {
      if (type == null) {
        throw new MalformedRecordException(
            "header " + BatchHeaderCodec.TYPE_HEADER + " is missing");
      }
      switch (type) {
        case CorrectionCodec.TYPE -> {
          if (backlog.add(correction(record))) {
            statistics.superseded.increment();
          }
        }
        case CorrectionCodec.RESTORED_TYPE ->
            backlog.add(
                new CorrectionBacklog.RestoredMessage(
                    record.partition(),
                    record.offset(),
                    CorrectionCodec.decodeRestored(record.value())));
        default -> throw new IllegalStateException("no reader for this kind: " + type);
      }
    } catch (MalformedRecordException malformed) {
      statistics.malformed.increment();
      log(record, malformed);
    }
  }

  private CorrectionBacklog.WaitingCorrection correction(ConsumerRecord<byte[], byte[]> record)
      throws MalformedRecordException {
    Correction correction = CorrectionCodec.decode(record.value());
    try {
      return new CorrectionBacklog.WaitingCorrection(
          record.partition(), record.offset(), limits.bound(correction, clock.nowEpochMillis()));
    } catch (IllegalArgumentException notOurs) {
      throw new MalformedRecordException("correction: " + notOurs.getMessage(), notOurs);
    }
  }

  private void log(ConsumerRecord<byte[], byte[]> record, MalformedRecordException malformed) {
    if (logPace.isDue()) {
      LOG.warn(
          "correction_malformed record={}-{}-{} detail=\"{}\"; Weir skips the record, and logs "
              + "at most one malformed record in 10 s",
          record.topic(),
          record.partition(),
          record.offset(),
          malformed.getMessage());
    }
  }
}
