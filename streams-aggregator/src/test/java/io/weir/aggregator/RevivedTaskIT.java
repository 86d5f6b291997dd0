// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.topology.MeterTopology;
import io.weir.aggregator.topology.StoppedPartitions;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.aggregator.topology.WrittenRows;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.SingleCopy;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
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
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * If a transaction cannot be committed, Kafka Streams recreates the task but does not reset the
 * consumer. The records of the transaction must be counted all the same.
 */
final class RevivedTaskIT {
  private static final int BATCHES = 30;
  private static final int CALLS_PER_BATCH = 200;
  private static final int CALLS_PER_SMALL_BATCH = 50;
  private static final byte[] ABORTED_BATCH = "20".getBytes(StandardCharsets.UTF_8);
  private static final long WINDOW_MILLIS = 2_000;
  private static final long GRACE_MILLIS = 1_000;

  /** The replacing thread must wait for the session of the ended thread. */
  private static final Duration SESSION_TIMEOUT = Fleet.SHORT_SESSION;

  @TempDir Path folder;

  /**
   * Makes the tasks of a thread corrupted at a batch of the first partition, twice, as Kafka
   * Streams does when a commit takes too long. Were one task named alone, the others would be
   * committed, and what that one has written with them ({@code TaskManager.handleCorruption}).
   */
  private static final class AbortTwice extends ContextualProcessor<byte[], byte[], Void, Void> {
    private final Aborts aborts;

    AbortTwice(Aborts aborts) {
      this.aborts = aborts;
    }

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      super.init(context);
      aborts.tasksOfThread().add(context.taskId());
      if (context.taskId().partition() == 0) {
        aborts.initialized.incrementAndGet();
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      if (context().taskId().partition() != 0) {
        aborts.holdTheRebalance();
        return;
      }
      byte[] sequence = record.headers().lastHeader("batch_seq").value();
      if (Arrays.equals(sequence, ABORTED_BATCH) && aborts.made.incrementAndGet() <= 2) {
        throw new TaskCorruptedException(Set.copyOf(aborts.tasksOfThread()));
      }
    }

    @Override
    public void close() {
      aborts.tasksOfThread().remove(context().taskId());
    }
  }

  private static final class Aborts {
    final AtomicInteger made = new AtomicInteger();

    /** How often the first partition's task was. */
    final AtomicInteger initialized = new AtomicInteger();

    private final Map<Thread, Set<TaskId>> tasks = new ConcurrentHashMap<>();

    private Set<TaskId> tasksOfThread() {
      return tasks.computeIfAbsent(Thread.currentThread(), unseen -> ConcurrentHashMap.newKeySet());
    }

    /**
     * Prevents a thread from joining again, and so a rebalance, until the other thread's task has
     * been recreated. Otherwise the rebalance would replace that task.
     */
    private void holdTheRebalance() {
      try {
        Await.until("the aborted task is recreated", () -> initialized.get() >= 2);
      } catch (Exception inVain) {
        throw new IllegalStateException(inVain);
      }
    }
  }

  /** The rebalance that follows replaces the task, and the consumer stays where it was. */
  @Test
  void count_transactionAbortedTwiceFromTheSameOffset_countsEveryCallOnce() throws Exception {
    assertCountsAll(1, CALLS_PER_BATCH, Map.of());
  }

  /**
   * Kafka Streams resets the consumer, but keeps the reached offset in a recreated task. Once, the
   * counting's work between records made it commit that offset before the first record had come
   * again; after a second abort the partition was never counted again: its records were refused as
   * skipped, at each start.
   */
  @Test
  void count_recreatedTaskGetsItsFirstRecordLate_countsEveryCallOnce() throws Exception {
    assertCountsAll(
        2,
        CALLS_PER_SMALL_BATCH,
        Map.of(
            StreamsConfig.mainConsumerPrefix(ConsumerConfig.FETCH_MIN_BYTES_CONFIG),
            50_000_000,
            StreamsConfig.mainConsumerPrefix(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG),
            1_500));
  }

  private void assertCountsAll(int partitions, int callsPerBatch, Map<String, Object> further)
      throws Exception {
    Aborts aborts = new Aborts();
    try (Broker broker = new Broker(partitions);
        KafkaStreams streams = streams(broker, partitions, aborts, further)) {
      streams.setUncaughtExceptionHandler(new StreamsFailures("revived", () -> false));
      streams.start();
      Await.until("running", () -> streams.state() == KafkaStreams.State.RUNNING);
      long decidedAt = System.currentTimeMillis() - 10_000; // a promise of now closes its window
      if (partitions > 1) {
        broker.send(1, new BatchHeader("n", 1, 1, 0, decidedAt, 0, false), new byte[0]);
      }
      List<String> clients = clients(partitions, BATCHES * callsPerBatch);
      send(broker, clients, callsPerBatch, decidedAt);
      long windowEnd = decidedAt - decidedAt % WINDOW_MILLIS + WINDOW_MILLIS;

      Await.until(
          "closed",
          () -> {
            promise(
                broker, clients.size()); // again and again: the next record finds the gap before it
            return rows(broker).stream().anyMatch(row -> closes(row, windowEnd));
          });

      assertTrue(aborts.made.get() >= 2);
      assertLedger(clients.size(), rows(broker));
    }
  }

  private static void promise(Broker broker, int calls) {
    long now = System.currentTimeMillis();
    broker.send(0, new BatchHeader("n", 1, BATCHES, 0, now, calls, false), new byte[0]);
    broker.flush();
  }

  private static boolean closes(LedgerRow row, long windowEndEpochMillis) {
    return row instanceof CloseRow close
        && close.closedThroughEpochMillis() >= windowEndEpochMillis;
  }

  private static void assertLedger(int calls, List<LedgerRow> ledger) {
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
    assertEquals(calls, all);
    Map<String, List<LedgerRow>> byId =
        ledger.stream().collect(Collectors.groupingBy(LedgerRow::recordId));
    byId.values()
        .removeIf(once -> once.size() == 1 || once.stream().allMatch(RevivedTaskIT::isEmpty));
    assertEquals(Map.of(), byId, "written twice");
  }

  /**
   * Returns whether a row closes windows without usage. Where nothing has failed in the producer,
   * Kafka Streams commits the transaction of corrupted tasks without its offsets ({@code
   * TaskExecutor.commitOffsetsOrTransaction}), so that a row that was written just before is
   * written once more. After a commit that took too long the transaction has its offsets already,
   * or cannot be committed.
   */
  private static boolean isEmpty(LedgerRow row) {
    return row instanceof CloseRow close && close.rows() == 0 && close.quantityTotal() == 0;
  }

  private KafkaStreams streams(
      Broker broker, int partitions, Aborts aborts, Map<String, Object> further) {
    Properties properties =
        new StreamsSettings(
                KafkaConnection.to(broker.bootstrapServers()),
                "revived-",
                folder,
                "it",
                SESSION_TIMEOUT,
                "f",
                partitions,
                0,
                SingleCopy.ALLOW)
            .meterCore("127.0.0.1:1");
    properties.putAll(further);
    CountSettings settings =
        new CountSettings(WINDOW_MILLIS, GRACE_MILLIS, 60_000, Duration.ofDays(35).toMillis());
    Topology topology =
        new MeterTopology(
                properties,
                settings,
                partitions,
                new WrittenRows(new SimpleMeterRegistry()),
                new StoppedPartitions(Set.of()))
            .get();
    topology.addProcessor("abort-twice", () -> new AbortTwice(aborts), "calls");
    return new KafkaStreams(topology, properties);
  }

  /** Names of clients of the first partition. */
  private static List<String> clients(int partitions, int count) {
    return IntStream.iterate(0, i -> i + 1)
        .mapToObj(i -> "client-" + i)
        .filter(client -> ClientPartitioner.partition(client, partitions) == 0)
        .limit(count)
        .toList();
  }

  private static void send(Broker broker, List<String> clients, int callsPerBatch, long decidedAt) {
    for (int batch = 0; batch < BATCHES; batch++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < callsPerBatch; i++) {
        int number = batch * callsPerBatch + i;
        calls.add(Calls.allowed("id-" + number, clients.get(number), 1, decidedAt));
      }
      broker.send(
          0,
          Calls.batch("n", batch + 1, calls.size(), decidedAt, (long) batch * callsPerBatch),
          Calls.value(calls));
    }
    broker.flush();
  }

  private static List<LedgerRow> rows(Broker broker) throws MalformedRecordException {
    List<LedgerRow> rows = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      rows.add(LedgerRowCodec.decode(record.value()));
    }
    return rows;
  }
}
