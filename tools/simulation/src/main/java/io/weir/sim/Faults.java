// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.SimulatedJournal.Trouble;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.wire.BatchHeaderCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.LongConsumer;

/**
 * Injects the faults of the plan one after another. After the phase with faults, ends all faults.
 */
final class Faults {
  private static final int MAX_SNAPSHOTS = 8;
  private static final long SNAPSHOT_MICROS = 300_000;

  /** The call in batches that have wrong headers. */
  private static final CallEvent STRANGERS_CALL =
      new CallEvent(
          "unsent",
          false,
          "stranger",
          CallEvent.DEFAULT_ENDPOINT,
          CallEvent.DEFAULT_METER,
          1,
          true,
          DecidedBy.NONE,
          null,
          1,
          1_000,
          null,
          List.of());

  private final World world;
  private final Chance chance;
  private final List<Fault> possible;
  private final Deque<SimulatedRedis.Snapshot> snapshots = new ArrayDeque<>();
  private final List<Ending> endings = new ArrayList<>();
  private boolean clockWasSet;
  private long badRecords;
  private long badLines;

  Faults(World world, Chance chance) {
    this.world = world;
    this.chance = chance;
    // sort the faults, because the order of the set is not fixed
    this.possible = new ArrayList<>(new TreeSet<>(world.plan().faults()));
    this.possible.remove(Fault.SENDING);
    this.possible.remove(Fault.REDIS_SLOW);
    this.possible.remove(Fault.SETTLEMENTS);
  }

  void begin() {
    snapshots.add(world.redis().snapshot());
    takeSnapshots();
    if (possible.contains(Fault.JOURNAL_GOES_BACK)) {
      copyDisks();
    }
    next();
  }

  private void takeSnapshots() {
    if (world.isHealed()) {
      return;
    }
    if (!world.redis().isAway()) {
      snapshots.add(world.redis().snapshot());
      if (snapshots.size() > MAX_SNAPSHOTS) {
        snapshots.remove();
      }
    }
    world.scheduler().after(SNAPSHOT_MICROS, "the replica follows", this::takeSnapshots);
  }

  private void copyDisks() {
    if (!world.isHealed()) {
      world.nodes().forEach(Node::copyDisk);
      world.scheduler().after(chance.millis(100, 3_000), "disks are copied", this::copyDisks);
    }
  }

  private void next() {
    if (possible.isEmpty()) {
      return;
    }
    long gap = world.plan().faultGapMillis();
    world
        .scheduler()
        .after(
            chance.millis(gap / 4, 2 * gap),
            "a fault",
            () -> {
              if (!world.isHealed()) {
                bringAbout(chance.pick(possible));
                next();
              }
            });
  }

  private void bringAbout(Fault fault) {
    world.count(fault.name());
    world.trace().note(fault.name());
    Node node = chance.pick(world.nodes());
    switch (fault) {
      case NODE_KILLED -> killNode(node);
      case DISK_LOST -> node.kill(true);
      case JOURNAL_GOES_BACK -> node.goBack();
      case NODE_STOPPED -> stopNode(node);
      case NODE_PAUSED -> {
        node.paused(true);
        later("goes on", () -> node.paused(false));
      }
      case CUT_FROM_KAFKA -> {
        world.kafka().cutOff(node.name(), true);
        later("reaches Kafka", () -> world.kafka().cutOff(node.name(), false));
      }
      case CUT_FROM_REDIS -> {
        node.cutFromRedis(true);
        later("reaches Redis", () -> node.cutFromRedis(false));
      }
      case BROKER_AWAY -> {
        world.kafka().setAway(true);
        later("the broker is back", () -> world.kafka().setAway(false));
      }
      case JOURNAL_FAILS -> {
        node.troubleDisk(chance.percent(50) ? Trouble.FAILS : Trouble.FAILS_THOUGH_WRITTEN);
        later("the disk is well", () -> node.troubleDisk(Trouble.NONE));
      }
      case COUNTER_KILLED -> chance.pick(world.counters()).kill();
      case REDIS_FLUSHED -> world.redis().flush();
      case REDIS_FAILOVER -> world.redis().comeBackAs(older(), true);
      case REDIS_UNSEEN_FAILOVER -> world.redis().comeBackAs(older(), false);
      case REDIS_RESTARTED -> restartRedis();
      case REDIS_AWAY -> {
        world.redis().setAway(true);
        later("Redis is back", () -> world.redis().setAway(false));
      }
      case NODE_CLOCK_SET -> set(node.clock()::step);
      case REDIS_CLOCK_SET -> set(world.redis()::stepClock);
      case BROKER_CLOCK_SET -> set(world.kafka().clock()::step);
      case BROKER_CLOCK_AHEAD -> {
        clockWasSet = true;
        long ahead = chance.millis(7_200_000, 40L * 86_400_000);
        world.kafka().clock().step(ahead);
        later("the broker's clock is right", () -> world.kafka().clock().step(-ahead));
      }
      case CORRECTIONS_DISORDERED -> {
        world.correctionGroup().rebalance();
        world.correctionGroup().reread();
      }
      case BAD_INPUT -> sendBadInput();
      case POLICIES_CHANGED -> changePolicies();
      case SENDING, REDIS_SLOW, SETTLEMENTS ->
          throw new IllegalStateException(fault + " is not brought about");
    }
  }

  private void later(String what, Runnable end) {
    long length = chance.percent(15) ? chance.millis(5_000, 20_000) : chance.millis(20, 4_000);
    Ending ending = new Ending(end);
    endings.add(ending);
    world.scheduler().after(length, what, ending);
  }

  /** The end of a fault. This task runs once: at its time, or when all faults end. */
  private static final class Ending implements Runnable {
    private final Runnable end;
    private boolean over;

    Ending(Runnable end) {
      this.end = end;
    }

    @Override
    public void run() {
      if (!over) {
        over = true;
        end.run();
      }
    }
  }

  /** Returns an older state of Redis to restore. All newer states are lost permanently. */
  private SimulatedRedis.Snapshot older() {
    SimulatedRedis.Snapshot chosen = chance.pick(List.copyOf(snapshots));
    while (snapshots.getLast() != chosen) {
      snapshots.removeLast();
    }
    return chosen;
  }

  private void killNode(Node node) {
    switch (chance.between(0, 3)) {
      case 0 -> node.troubleDisk(Trouble.KILLED_BEFORE);
      case 1 -> node.troubleDisk(Trouble.KILLED_AFTER);
      default -> node.kill(false);
    }
  }

  private static void stopNode(Node node) {
    IngestProcess process = node.process();
    if (process != null) {
      process.stop();
    }
  }

  private void restartRedis() {
    SimulatedRedis redis = world.redis();
    boolean empty = chance.percent(40);
    SimulatedRedis.Snapshot file = empty ? null : older();
    redis.setAway(true);
    later(
        "Redis has started again",
        () -> {
          redis.setAway(false);
          if (file == null) {
            snapshots.clear();
            redis.comeBackEmpty();
            snapshots.add(redis.snapshot());
          } else {
            redis.comeBackAs(file, true);
          }
        });
  }

  /**
   * Changes the limits. Each process adopts the new limits at its next start, as in a rolling
   * deployment.
   */
  private void changePolicies() {
    world.changePolicies(Plan.changed(world.policies(), chance));
    for (Node node : world.nodes()) {
      world.scheduler().after(chance.millis(0, 4_000), "a deployment", () -> deploy(node));
    }
  }

  private static void deploy(Node node) {
    IngestProcess process = node.process();
    if (process != null && process.isOutdated()) {
      process.stop();
    }
  }

  private void set(LongConsumer clock) {
    clockWasSet = true;
    clock.accept(chance.millis(-900, 900));
  }

  /**
   * Steps Redis' clock back or forward by up to a day. The caller must first wait until all calls
   * are counted: the aggregator refuses calls whose time by Redis' clock is hours wrong.
   */
  void stepRedisClockFar() {
    long most = chance.pick(List.of(5_000L, 300_000L, 86_400_000L));
    long by = chance.millis(1_000, most);
    boolean isBack = chance.percent(75);
    world.count(isBack ? "Redis' clock stepped far back" : "Redis' clock stepped far forward");
    world.redis().stepClock(isBack ? -by : by);
  }

  boolean wasAnyClockSet() {
    return clockWasSet;
  }

  private void sendBadInput() {
    if (world.kafka().isAway()) {
      return;
    }
    int partition = chance.between(0, world.kafka().partitions() - 1);
    int lines = chance.between(0, 2);
    byte[] value =
        lines == 0
            ? "not a batch".getBytes(StandardCharsets.UTF_8)
            : CallBatchWriter.encode(Collections.nCopies(lines, STRANGERS_CALL));
    Map<String, byte[]> headers =
        chance.percent(50)
            ? Map.of()
            : BatchHeaderCodec.encode(
                new BatchHeader("stranger", 1, 1, lines + 1, 1_000, 0, false));
    world.kafka().calls(partition).append(null, value, headers);
    badRecords++;
    badLines += Math.max(1, lines); // a value that is not a batch counts as one line
  }

  /** Returns the number of records that the quarantine must contain. */
  long badRecords() {
    return badRecords;
  }

  long badLines() {
    return badLines;
  }

  /** Ends every fault. */
  void heal() {
    endings.forEach(Ending::run);
    world.nodes().forEach(Faults::deploy);
  }
}
