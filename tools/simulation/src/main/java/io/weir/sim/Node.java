// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.SlotOutcome;
import io.weir.ingest.gate.SlotToken;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.ingest.settle.CallQuery;
import io.weir.ingest.settle.SettleOutcome;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A machine that runs ingest processes, one at a time: its name, clock, disk and network links. */
final class Node {
  private final World world;
  private final String name;
  private final SimClock clock;
  private final Chance chance;
  private @Nullable SimulatedJournal disk;
  private @Nullable IngestProcess process;
  private int lives;
  private @Nullable SimulatedJournal copyOfDisk;
  private boolean powerWasLost;
  private long newestEpoch;
  private boolean cutFromRedis;
  private boolean paused;
  private boolean awaitsItsClock;

  Node(World world, String name, SimClock clock, Chance chance) {
    this.world = world;
    this.name = name;
    this.clock = clock;
    this.chance = chance;
  }

  String name() {
    return name;
  }

  SimClock clock() {
    return clock;
  }

  boolean isCutFromRedis() {
    return cutFromRedis;
  }

  void cutFromRedis(boolean cut) {
    cutFromRedis = cut;
  }

  boolean isPaused() {
    return paused;
  }

  void paused(boolean nowPaused) {
    paused = nowPaused;
  }

  boolean isUp() {
    return process != null;
  }

  boolean isAlive(int life) {
    return process != null && lives == life;
  }

  @Nullable IngestProcess process() {
    return process;
  }

  /**
   * Starts a process over the contents of the disk; on a new disk it needs Kafka to begin a
   * journal.
   */
  void start() {
    if (process != null) {
      return;
    }
    SimulatedJournal journal = disk;
    if (journal == null) {
      long epoch = clock.epochMillis();
      awaitsItsClock = epoch <= newestEpoch;
      if (!world.kafka().isReachedBy(name) || awaitsItsClock) {
        world.scheduler().after(chance.millis(300, 900), name + " starts", this::start);
        return;
      }
      journal = new SimulatedJournal(new JournalIdentity(name, epoch, world.kafka().partitions()));
      disk = journal;
    } else {
      journal.reopen(powerWasLost);
      powerWasLost = false;
    }
    journal.trouble(SimulatedJournal.Trouble.NONE);
    awaitsItsClock = false;
    lives++;
    world.trace().note(name, "life", lives, "epoch", journal.identity().epoch());
    IngestProcess started = new IngestProcess(world, this, lives, journal, chance.split());
    process = started;
    newestEpoch = Math.max(newestEpoch, journal.identity().epoch());
    started.begin();
  }

  /**
   * Kills the process.
   *
   * @param diskToo whether what only the journal held is lost
   */
  void kill(boolean diskToo) {
    IngestProcess killed = process;
    if (killed != null) {
      killed.die();
      process = null;
    }
    SimulatedJournal lost = disk;
    if (diskToo && lost != null) {
      world.buckets().recordsLost(world.calls().journalLost(name, null));
      disk = null;
    }
    world.scheduler().after(chance.millis(200, 5_000), name + " starts", this::start);
  }

  /** Copies the disk, as a snapshot would. */
  void copyDisk() {
    copyOfDisk = disk == null ? null : disk.copy();
  }

  /** Kills the process and puts back the copy of its disk. A loss of power has the same effect. */
  void goBack() {
    SimulatedJournal copy = copyOfDisk;
    if (copy == null) {
      return;
    }
    kill(false);
    copyOfDisk = copy.copy();
    disk = copy;
    powerWasLost = chance.percent(50);
    world.buckets().recordsLost(world.calls().journalLost(name, copy));
  }

  /** Handles that the process has ended by itself after its goodbye; it comes back later. */
  void stopped() {
    process = null;
    world.scheduler().after(chance.millis(200, 5_000), name + " starts", this::start);
  }

  /** Sets what the disk does with the next writes of the journal. */
  void troubleDisk(SimulatedJournal.Trouble trouble) {
    if (disk != null && process != null) {
      disk.trouble(trouble);
    }
  }

  /** Returns whether a call to this machine would be received. */
  boolean isReady() {
    IngestProcess running = process;
    return running != null && !paused && running.isReady();
  }

  /**
   * Returns whether it has lost its disk, and its clock is behind the last opening of the journal
   * that was on it: up to 1,000 s if that opening had leapt (decision 0008). Until then it does not
   * start, as its operator is told (seeds 51015086 and 130001663).
   */
  boolean awaitsItsClock() {
    return awaitsItsClock;
  }

  /** Sets the clock right after the last opening of the lost journal, as its operator may. */
  void setClockAfterLastOpening() {
    clock.step((newestEpoch + 1 - clock.epochMillis()) * 1_000);
  }

  /** Makes a check. Returns null if the process died of it, so that the caller gets no answer. */
  @Nullable CheckOutcome check(Call call) {
    return asked(running -> running.check(call));
  }

  /** Makes a settlement. Returns null as {@link #check} does. */
  @Nullable SettleOutcome settle(CallQuery query, long actualCost) {
    return asked(running -> running.settle(query, actualCost));
  }

  /** Renews slots. Returns null as {@link #check} does. */
  @Nullable SlotOutcome renewSlots(SlotToken token) {
    return asked(running -> running.renewSlots(token));
  }

  /** Releases slots. Returns null as {@link #check} does. */
  @Nullable SlotOutcome releaseSlots(SlotToken token) {
    return asked(running -> running.releaseSlots(token));
  }

  private <T> @Nullable T asked(Function<IngestProcess, T> question) {
    IngestProcess running = process;
    if (running == null) {
      return null;
    }
    try {
      return question.apply(running);
    } catch (Crash crash) {
      diedOf(running);
      return null;
    }
  }

  /** Kills the process that crashed, unless it is dead already. */
  void diedOf(IngestProcess crashed) {
    if (process == crashed) {
      kill(false);
    }
  }

  /** Notes that the cache has admitted the call being checked. */
  void admitted(AdmittedTokens tokens) {
    IngestProcess running = process;
    if (running != null) {
      running.admitted(tokens);
    }
  }

  /** Notes that the cache has lent tokens to the process. */
  void lent(List<BucketWitness.Loan> lent) {
    IngestProcess running = process;
    if (running != null) {
      running.lent(lent);
    }
  }

  void suspectCache() {
    IngestProcess running = process;
    if (running != null) {
      running.suspectCache();
    }
  }
}
