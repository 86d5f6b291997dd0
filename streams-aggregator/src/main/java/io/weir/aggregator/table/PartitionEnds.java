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
 * Asks Kafka where the state topic's partitions end for readers of committed records. Kafka that
 * does not answer is not asked again for a second: nobody shall wait for it in turn. Not safe for
 * threads.
 */
final class PartitionEnds implements Barriers.Ends {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionEnds.class);

  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final long AWAY_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Consumer<byte[], byte[]> consumer;
  private long awaySinceNanos = System.nanoTime() - AWAY_NANOS;

  /**
   * @param consumer of this alone: on a connection that fetches the question would wait for the
   *     fetch under way
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
    Set<TopicPartition> asked = new HashSet<>();
    partitions.forEach(partition -> asked.add(StateConsumer.partition(partition)));
    while (true) {
      long begunNanos = System.nanoTime();
      try {
        consumer.endOffsets(asked, TIMEOUT).forEach((one, end) -> ends.put(one.partition(), end));
        return true;
      } catch (TimeoutException away) {
        long tookNanos = System.nanoTime() - begunNanos;
        if (tookNanos < 2 * TIMEOUT.toNanos()) {
          LOG.debug("Kafka does not tell the end of the state topic", away);
          return false;
        }
        // it was this process that stood still
        LOG.warn("process stood still took_ms={}", TimeUnit.NANOSECONDS.toMillis(tookNanos));
      }
    }
  }
}
