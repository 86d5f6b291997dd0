// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.record.BatchProducer;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * An idempotent producer of one process. Batches and acknowledgements take time, and may be lost. A
 * batch that the producer has abandoned may arrive after the second copy of the batch. The broker
 * appends the batches of a partition in the order in which they were sent, and skips refused
 * batches.
 */
final class SimulatedProducer implements BatchProducer {
  private static final long TYPICAL_MILLIS = 25;

  /**
   * Maximum time that a request can wait in a broker after the sender has abandoned the request.
   */
  private static final long LATEST_MILLIS = 3_000;

  private final World world;
  private final LongConsumer promised;
  private final String node;
  private final Map<Integer, Long> sent = new HashMap<>();

  /** Number of appended or refused batches, by partition. */
  private final Map<Integer, Long> passed = new HashMap<>();

  /**
   * Batches that arrived before their predecessor. The keys are the partition and the batch's
   * number.
   */
  private final Map<Integer, Map<Long, Runnable>> waiting = new HashMap<>();

  private boolean closed;

  /**
   * Creates a producer.
   *
   * @param promised receives the low watermark of each batch
   */
  SimulatedProducer(World world, String node, LongConsumer promised) {
    this.promised = promised;
    this.world = world;
    this.node = node;
  }

  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    promised.accept(header.lowWatermarkEpochMillis());
    BatchHeader sent = world.edges().sent(header, world.kafka().clock().epochMillis());
    Batch batch = new Batch(partition, place(partition), BatchHeaderCodec.encode(sent), lines);
    Chance chance = world.networkChance();
    boolean disturbed = world.plan().has(Fault.SENDING) && !world.isHealed();
    long there = chance.millis(0, TYPICAL_MILLIS);
    long back = chance.millis(0, TYPICAL_MILLIS);
    if (disturbed && chance.percent(20)) {
      there = chance.millis(0, 900);
    }
    if (disturbed && chance.percent(6)) {
      world.count("batch lost");
      later(there + back, done, new Failure(true, "the request was lost"));
    } else if (disturbed && chance.percent(6)) {
      world.count("batch doubled");
      boolean broken = chance.percent(50);
      arrive(there, batch, broken ? null : () -> {});
      later(there + back, done, new Failure(broken, "the answer was lost"));
    } else if (disturbed && chance.percent(6)) {
      world.count("batch overtaken");
      arrive(there + chance.millis(0, LATEST_MILLIS), batch, null);
      later(there, done, new Failure(true, "the connection broke"));
    } else if (disturbed && chance.percent(4)) {
      world.count("batch refused");
      pass(there, batch, () -> later(back, done, new Failure(false, "not authorised")));
    } else {
      arrive(there, batch, () -> later(back, done, null));
    }
  }

  private long place(int partition) {
    return sent.merge(partition, 1L, Long::sum);
  }

  /** A batch and its number in the partition. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Batch(int partition, long place, Map<String, byte[]> headers, byte[] lines) {}

  /** Delivers a batch to the broker. */
  private void arrive(long delayMicros, Batch batch, @Nullable Runnable then) {
    take(
        delayMicros,
        batch,
        then,
        () -> {
          SimulatedLog.Entry entry =
              world.kafka().calls(batch.partition).append(null, batch.lines, batch.headers);
          world.trace().note("calls", batch.partition, entry.offset(), batch.lines.length);
        });
  }

  /** Delivers a batch that the broker refuses. */
  private void pass(long delayMicros, Batch batch, Runnable then) {
    take(delayMicros, batch, then, () -> {});
  }

  /**
   * Delivers a batch to the broker. Retries while the broker is unreachable.
   *
   * @param then runs after the delivery; null if the sender does not wait, and then there are no
   *     retries
   */
  private void take(long delayMicros, Batch batch, @Nullable Runnable then, Runnable taken) {
    world
        .scheduler()
        .after(delayMicros, "a batch of " + node + " arrives", () -> taken(batch, then, taken));
  }

  private void taken(Batch batch, @Nullable Runnable then, Runnable taken) {
    if (passed.getOrDefault(batch.partition, 0L) != batch.place - 1) {
      waiting(batch.partition).put(batch.place, () -> taken(batch, then, taken));
    } else if (world.kafka().isReachedBy(node)) {
      passed.put(batch.partition, batch.place);
      taken.run();
      if (then != null) {
        then.run();
      }
      Runnable next = waiting(batch.partition).remove(batch.place + 1);
      if (next != null) {
        next.run();
      }
    } else if (then != null && !closed) {
      take(world.networkChance().millis(50, 400), batch, then, taken);
    }
  }

  private Map<Long, Runnable> waiting(int partition) {
    return waiting.computeIfAbsent(partition, unseen -> new HashMap<>());
  }

  private void later(
      long delayMicros, Consumer<@Nullable Failure> done, @Nullable Failure failure) {
    world
        .scheduler()
        .after(
            delayMicros,
            "an answer of the broker for " + node,
            () -> {
              if (!closed) {
                done.accept(failure);
              }
            });
  }

  @Override
  public void close() {
    closed = true;
  }
}
