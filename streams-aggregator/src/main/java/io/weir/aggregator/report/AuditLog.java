// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsReader;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.problem.Problem;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A reader of ranges of the calls topic. It uses a new consumer for each range. Thread-safe. */
final class AuditLog {
  private static final Logger LOG = LoggerFactory.getLogger(AuditLog.class);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final int API_TIMEOUT_MILLIS = 5_000;
  private static final int MAX_FETCH_BYTES = 2 * Topic.MAX_RECORD_BYTES;

  private final KafkaConnection kafka;
  private final AtomicLong readings = new AtomicLong();

  AuditLog(KafkaConnection kafka) {
    this.kafka = kafka;
  }

  /**
   * Reads the committed records of a partition in order.
   *
   * @param from offset of the first record; −1 to begin at a time
   * @param fromEpochMillis the time at which to begin if the offset is −1. The read begins with the
   *     first record that the broker appended at or after this time
   * @param reader receives each record; returns false to stop
   * @param atMost maximum duration
   * @return whether the read has reached the end that the log had when the read began
   * @throws ProblemException if Kafka does not answer
   */
  boolean read(
      int partition,
      long from,
      long fromEpochMillis,
      Predicate<CallsRecord> reader,
      Duration atMost) {
    long deadline = System.nanoTime() + atMost.toNanos();
    try (CallsReader log = open()) {
      long end = log.end(partition);
      long offset = from >= 0 ? from : log.offsetAt(partition, Math.max(0, fromEpochMillis));
      while (offset < end) {
        CallsReader.Slice slice = log.read(partition, offset, POLL);
        for (CallsRecord record : slice.records()) {
          if (record.offset() >= end) {
            return true;
          }
          if (!reader.test(record) || System.nanoTime() - deadline > 0) {
            return false;
          }
        }
        if (System.nanoTime() - deadline > 0) {
          return false;
        }
        offset = slice.next();
      }
      return true;
    } catch (KafkaException unavailable) {
      LOG.warn("cannot read the audit log partition={}", partition, unavailable);
      throw new ProblemException(
          Problem.partitionUnavailable(
              partition, "the aggregator cannot read the audit log at present"));
    }
  }

  private CallsReader open() {
    return new CallsReader(
        kafka.consumer(
            Map.of(
                ConsumerConfig.CLIENT_ID_CONFIG,
                "weir-events-" + readings.incrementAndGet(),
                ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
                MAX_FETCH_BYTES,
                ConsumerConfig.FETCH_MAX_BYTES_CONFIG,
                MAX_FETCH_BYTES,
                ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS,
                ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
                API_TIMEOUT_MILLIS)));
  }
}
