// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A source that queries Kafka for the end offsets of the state topic's partitions. An end offset
 * here is the last stable offset, up to which a consumer reads committed records. If Kafka does not
 * answer, the next query follows after one second. Until that query, all end offsets are unknown,
 * because every request would otherwise wait for the timeout. Not thread-safe.
 */
final class PartitionEnds implements Barriers.Ends {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionEnds.class);

  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Consumer<byte[], byte[]> consumer;
  private long awaySinceNanos = System.nanoTime() - AWAY_NANOS;

  /**
   * Creates a source of end offsets.
   *
   * @param consumer a consumer that does not fetch records; otherwise a query would wait for the
   *     fetch in progress
   */
  PartitionEnds(Consumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  @Override
  public Map<Integer, Long> find(Set<Integer> partitions) {
    if (System.nanoTime() - awaySinceNanos < AWAY_NANOS) {
      return Map.of();
    }
    Map<Integer, Long> ends = new HashMap<>();
    if (!tryFind(partitions, ends)) {
      awaySinceNanos = System.nanoTime();
    }
    return ends;
  }

  private boolean tryFind(Set<Integer> partitions, Map<Integer, Long> ends) {
    Set<TopicPartition> requested = new HashSet<>();
    partitions.forEach(partition -> requested.add(StateConsumer.partition(partition)));
    while (true) {
      long begunNanos = System.nanoTime();
      try {
        consumer
            .endOffsets(requested, TIMEOUT)
            .forEach((one, end) -> ends.put(one.partition(), end));
        return true;
      } catch (TimeoutException away) {
        long tookNanos = System.nanoTime() - begunNanos;
        if (tookNanos < 2 * TIMEOUT.toNanos()) {
          LOG.debug("Kafka did not return the ends of the state topic's partitions", away);
          return false;
        }
        LOG.warn("process was suspended took_ms={}", TimeUnit.NANOSECONDS.toMillis(tookNanos));
      }
    }
  }
}
