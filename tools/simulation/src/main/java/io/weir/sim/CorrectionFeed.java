// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.correct.CorrectionQueue;
import io.weir.ingest.correct.CorrectionStatistics;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The consumer of corrections in one process. The consumer uses Weir's own queue of corrections.
 * Replaces {@code CorrectionLoop} and its Kafka consumer.
 */
final class CorrectionFeed {
  private static final String TOPIC = "corrections";
  private static final int MAX_RECORDS = 20;
  private static final int MAX_PER_SECOND = 20_000;

  private final World world;
  private final Node node;
  private final CorrectionGroup group;
  private final CorrectionQueue queue;
  private final TreeMap<Integer, Long> readTo = new TreeMap<>();

  CorrectionFeed(
      World world, Node node, CacheLink cache, CorrectionStatistics statistics, LocalClock clock) {
    this.world = world;
    this.node = node;
    this.group = world.correctionGroup();
    this.queue =
        new CorrectionQueue(
            cache.corrector(), cache, world::policies, MAX_PER_SECOND, statistics, clock);
    group.join(node.name());
  }

  /** Reads corrections if the queue is empty, and then applies the corrections of the queue. */
  void turn() {
    if (queue.isEmpty() && world.kafka().isReachedBy(node.name())) {
      read();
    }
    boolean slow = world.isDisturbedBy(Fault.CORRECTIONS_DISORDERED);
    if (slow && world.networkChance().percent(30)) {
      return;
    }
    for (int step = 0; step < MAX_RECORDS && !queue.isEmpty(); step++) {
      queue.applyNext();
    }
    readTo.forEach(
        (partition, position) ->
            group.commit(node.name(), partition, queue.answeredTo(partition, position)));
  }

  private void read() {
    for (int partition : group.partitionsOf(node.name())) {
      long position = Math.max(group.committed(partition), readTo.getOrDefault(partition, 0L));
      if (group.wantsReread(node.name(), partition)) {
        position = world.networkChance().between(0, position);
      }
      SimulatedLog log = world.kafka().corrections(partition);
      long end = Math.min(log.end(), position + MAX_RECORDS);
      for (long offset = position; offset < end; offset++) {
        queue.read(record(partition, log.at(offset)));
      }
      readTo.put(partition, end);
    }
    readTo.keySet().retainAll(group.partitionsOf(node.name()));
  }

  private static ConsumerRecord<byte[], byte[]> record(int partition, SimulatedLog.Entry entry) {
    ConsumerRecord<byte[], byte[]> record =
        new ConsumerRecord<>(TOPIC, partition, entry.offset(), entry.key(), entry.value());
    entry.headers().forEach((name, value) -> record.headers().add(name, value));
    return record;
  }

  void die() {
    group.leave(node.name());
  }
}
