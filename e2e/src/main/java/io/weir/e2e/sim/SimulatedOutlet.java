// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.ingest.record.Outlet;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.BatchHeaderCodec;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A producer of one process: each batch travels to the broker and its answer travels back. Either
 * may be lost; a batch whose answer was given up may still arrive, after its own repetition.
 */
final class SimulatedOutlet implements Outlet {
  private static final long TYPICAL_MILLIS = 25;

  /** How long a request may wait in a broker after its sender gave it up. */
  private static final long LATEST_MILLIS = 3_000;

  private final World world;
  private final String node;
  private boolean closed;

  SimulatedOutlet(World world, String node) {
    this.world = world;
    this.node = node;
  }

  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    BatchHeader sent = world.edges().sent(header, world.kafka().clock().epochMillis());
    Map<String, byte[]> headers = BatchHeaderCodec.encode(sent);
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
      arrive(there, partition, headers, lines, null);
      later(there + back, done, new Failure(chance.percent(50), "the answer was lost"));
    } else if (disturbed && chance.percent(6)) {
      world.count("batch overtaken");
      arrive(there + chance.millis(0, LATEST_MILLIS), partition, headers, lines, null);
      later(there, done, new Failure(true, "the connection broke"));
    } else {
      arrive(there, partition, headers, lines, () -> later(back, done, null));
    }
  }

  /**
   * Takes a batch to the broker, which is asked again and again while it is away.
   *
   * @param then what follows; null when nobody waits, so that nobody asks again either
   */
  private void arrive(
      long delayMicros,
      int partition,
      Map<String, byte[]> headers,
      byte[] lines,
      @Nullable Runnable then) {
    world
        .scheduler()
        .after(
            delayMicros,
            "a batch of " + node + " arrives",
            () -> {
              if (world.kafka().isReachedBy(node)) {
                SimulatedLog.Entry entry =
                    world.kafka().calls(partition).append(null, lines, headers);
                world.trace().note("calls", partition, entry.offset(), lines.length);
                if (then != null) {
                  then.run();
                }
              } else if (then != null && !closed) {
                arrive(world.networkChance().millis(50, 400), partition, headers, lines, then);
              }
            });
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
