// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.kafka.KafkaClientMetrics;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.process.LogPace;
import io.weir.topics.process.SupervisedThread;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.SettlementVerdictCodec;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread that reads the settlements topic from its end, and passes the verdicts on this node's
 * settlements to their requesters. The topic contains one verdict per settlement of any node, and
 * the thread reads all of them. After a failure of Kafka the thread closes the consumer, and a new
 * consumer continues at the same offsets. Thread-safe.
 */
public final class VerdictFollower implements Settler.Verdicts, AutoCloseable {
  /**
   * Maximum time that a settlement waits for its verdict, which usually arrives within about 200
   * ms.
   */
  static final Duration TIMEOUT = Duration.ofSeconds(3);

  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);
  private static final long PAUSE_MILLIS = 1_000;
  private static final int API_TIMEOUT_MILLIS = 5_000;
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);

  /** Minimum time between two log lines about a lasting failure. */
  private static final long LOG_NANOS = 30_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(VerdictFollower.class);

  private final KafkaConnection kafka;
  private final String node;
  private final List<TopicPartition> partitions;
  private final VerdictBoard board;
  private final Map<TopicPartition, Long> next = new HashMap<>();
  private final MeterRegistry registry;
  private final SupervisedThread thread;
  private final LogPace logPace = new LogPace(System::nanoTime, LOG_NANOS);
  private volatile @Nullable KafkaConsumer<byte[], byte[]> consumer;

  private VerdictFollower(
      KafkaConnection kafka, String node, int partitions, int maxWaiting, MeterRegistry registry) {
    this.kafka = kafka;
    this.node = node;
    this.partitions =
        IntStream.range(0, partitions)
            .mapToObj(number -> new TopicPartition(Topics.SETTLEMENTS.name(), number))
            .toList();
    this.board = new VerdictBoard(maxWaiting);
    this.registry = registry;
    this.thread = new SupervisedThread("weir-verdicts", new Following());
  }

  /**
   * Starts to follow the topic. Does not require Kafka to be reachable.
   *
   * @param partitions number of partitions of the topic
   * @param maxWaiting maximum number of settlements that may wait at the same time; each waiting
   *     settlement occupies a thread
   * @param registry receives the metrics of the Kafka consumer
   */
  public static VerdictFollower start(
      KafkaConnection kafka, String node, int partitions, int maxWaiting, MeterRegistry registry) {
    VerdictFollower follower = new VerdictFollower(kafka, node, partitions, maxWaiting, registry);
    follower.thread.start();
    return follower;
  }

  @Override
  public @Nullable SettlementVerdict await(UsagePosition settlement) {
    return board.await(settlement, TIMEOUT);
  }

  /** Follows the topic, with a new consumer after each failure. */
  private final class Following implements SupervisedThread.Work {
    @Override
    public void run() {
      follow();
    }

    @Override
    public long failed(Throwable failure) {
      if (failure instanceof KafkaException unreachable) {
        complain(unreachable);
      } else {
        LOG.error("reading verdicts on settlements failed; Weir retries", failure);
      }
      return PAUSE_MILLIS;
    }

    /** Wakes the consumer up. Called only to stop the thread. */
    @Override
    public void wakeUp(Thread worker) {
      KafkaConsumer<byte[], byte[]> current = consumer;
      if (current != null) {
        current.wakeup();
      }
    }
  }

  private void complain(KafkaException failed) {
    if (logPace.isDue()) {
      LOG.warn(
          "verdicts_not_readable detail=\"{}\"; settlements are answered as pending",
          KafkaRefusal.explain(failed, "Read", failed.toString()));
    }
  }

  private void follow() {
    KafkaConsumer<byte[], byte[]> opened = open();
    consumer = opened;
    try (KafkaClientMetrics metrics = new KafkaClientMetrics(opened)) {
      metrics.bindTo(registry);
      opened.assign(partitions);
      for (TopicPartition partition : partitions) {
        Long known = next.get(partition);
        if (known == null) {
          opened.seekToEnd(List.of(partition));
          next.put(partition, opened.position(partition));
        } else {
          opened.seek(partition, known);
        }
      }
      while (!thread.isClosing()) {
        for (ConsumerRecord<byte[], byte[]> each : opened.poll(POLL)) {
          next.put(new TopicPartition(each.topic(), each.partition()), each.offset() + 1);
          passOn(each);
        }
      }
    } finally {
      consumer = null;
      opened.close(CloseOptions.timeout(CLOSE_TIMEOUT));
    }
  }

  private void passOn(ConsumerRecord<byte[], byte[]> settled) {
    byte[] value = settled.value();
    String kind = HeaderValues.text(settled.headers(), BatchHeaderCodec.TYPE_HEADER);
    if (value == null || !SettlementVerdictCodec.TYPE.equals(kind)) {
      return;
    }
    try {
      SettlementVerdict verdict = SettlementVerdictCodec.decode(value);
      if (verdict.position().node().equals(node)) {
        board.publish(verdict);
      }
    } catch (MalformedRecordException malformed) {
      LOG.warn(
          "verdict_malformed record={}-{}-{} detail=\"{}\"",
          settled.topic(),
          settled.partition(),
          settled.offset(),
          malformed.getMessage());
    }
  }

  private KafkaConsumer<byte[], byte[]> open() {
    return kafka.consumer(
        Map.of(
            ConsumerConfig.CLIENT_ID_CONFIG,
            "weir-verdicts-" + node,
            ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
            "latest",
            ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG,
            API_TIMEOUT_MILLIS,
            ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG,
            API_TIMEOUT_MILLIS));
  }

  /** Stops following the topic. Threads that still wait continue to wait until their timeout. */
  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
  }
}
