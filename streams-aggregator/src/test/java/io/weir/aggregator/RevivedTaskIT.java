// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.aggregator.topology.WrittenRows;
import io.weir.testing.Await;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * When a transaction cannot be committed, Kafka Streams makes the task anew, but does not set the
 * consumer back: what the transaction had taken must be counted all the same.
 */
final class RevivedTaskIT {
  private static final int CLIENTS = 30_000;
  private static final int CALLS_PER_BATCH = 1_000;
  private static final byte[] ABORTED_BATCH = "20".getBytes(StandardCharsets.UTF_8);
  private static final long WINDOW_MILLIS = 2_000;
  private static final long GRACE_MILLIS = 1_000;

  /** The thread that takes over from the one that ends has to wait for its session. */
  private static final Duration SESSION_TIMEOUT = Fleet.SHORT_SESSION;

  @TempDir Path folder;

  /** Aborts the transaction that a batch was counted in, once. */
  private static final class AbortTwice extends ContextualProcessor<byte[], byte[], Void, Void> {
    private final AtomicInteger aborted;

    AbortTwice(AtomicInteger aborted) {
      this.aborted = aborted;
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      byte[] sequence = record.headers().lastHeader("batch_seq").value();
      if (Arrays.equals(sequence, ABORTED_BATCH) && aborted.incrementAndGet() <= 2) {
        throw new TaskCorruptedException(Set.of(context().taskId()));
      }
    }
  }

  @Test
  void count_transactionAbortedTwiceFromTheSameOffset_takesItsCallsAgain() throws Exception {
    AtomicInteger aborted = new AtomicInteger();
    try (Broker broker = new Broker(1);
        KafkaStreams streams = streams(broker, aborted)) {
      streams.setUncaughtExceptionHandler(new StreamsFailures("revived", () -> false));
      streams.start();
      Await.until("running", () -> streams.state() == KafkaStreams.State.RUNNING);
      long decidedAt = System.currentTimeMillis() - 10_000; // a promise of now closes its window
      int batches = send(broker, decidedAt);
      long windowEnd = decidedAt - decidedAt % WINDOW_MILLIS + WINDOW_MILLIS;

      Await.until(
          "closed",
          () -> {
            promise(broker, batches); // again and again: the next record finds the gap before it
            return rows(broker).stream().anyMatch(row -> closes(row, windowEnd));
          });

      assertTrue(aborted.get() >= 2);
      assertLedger(rows(broker));
    }
  }

  private static void promise(Broker broker, int batches) {
    long now = System.currentTimeMillis();
    broker.send(0, new BatchHeader("n", 1, batches, 0, now, CLIENTS, false), new byte[0]);
    broker.flush();
  }

  private static boolean closes(LedgerRow row, long windowEndEpochMillis) {
    return row instanceof CloseRow close
        && close.closedThroughEpochMillis() >= windowEndEpochMillis;
  }

  private static void assertLedger(List<LedgerRow> ledger) {
    long rows = 0;
    long all = 0;
    for (LedgerRow row : ledger) {
      if (row instanceof UsageRow usage) {
        assertTrue(usage.complete());
        rows++;
        all++;
      } else if (row instanceof CloseRow close) {
        assertEquals(rows, close.rows(), "control total of " + close);
        rows = 0;
      }
    }
    assertEquals(CLIENTS, all);
    assertEquals(ledger.size(), ledger.stream().map(LedgerRow::recordId).distinct().count());
  }

  private KafkaStreams streams(Broker broker, AtomicInteger aborted) {
    Properties properties =
        new StreamsSettings(
                broker.bootstrapServers(),
                "revived-",
                folder,
                "it",
                SESSION_TIMEOUT,
                "f",
                1,
                0,
                SingleCopy.ALLOW)
            .meterCore("127.0.0.1:1");
    CountSettings settings =
        new CountSettings(WINDOW_MILLIS, GRACE_MILLIS, 60_000, Duration.ofDays(35).toMillis());
    Topology topology =
        new MeterTopology(
                properties, settings, 1, new WrittenRows(), new StoppedPartitions(Set.of()))
            .get();
    topology.addProcessor("abort-twice", () -> new AbortTwice(aborted), "calls");
    return new KafkaStreams(topology, properties);
  }

  private static int send(Broker broker, long decidedAt) {
    int batches = CLIENTS / CALLS_PER_BATCH;
    for (int batch = 0; batch < batches; batch++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < CALLS_PER_BATCH; i++) {
        int number = batch * CALLS_PER_BATCH + i;
        calls.add(Calls.allowed("id-" + number, "client-" + number, 1, decidedAt));
      }
      broker.send(
          0,
          Calls.batch("n", batch + 1, calls.size(), decidedAt, (long) batch * CALLS_PER_BATCH),
          Calls.value(calls));
    }
    broker.flush();
    return batches;
  }

  private static List<LedgerRow> rows(Broker broker) throws MalformedRecordException {
    List<LedgerRow> rows = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      rows.add(LedgerRowCodec.decode(record.value()));
    }
    return rows;
  }
}
