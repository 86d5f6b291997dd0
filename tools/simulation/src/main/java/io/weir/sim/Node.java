// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.SlotOutcome;
import io.weir.ingest.gate.SlotToken;
import io.weir.ingest.record.journal.JournalIdentity;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.SettleOutcome;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A machine that runs one ingest process at a time, with its name, clock, disk and network links.
 */
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
   * Starts a process with the content of the disk. With a new disk, the process needs Kafka to
   * create a journal.
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
   * @param diskToo whether the disk, with the unsent lines, is lost
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

  /** Copies the disk, as a snapshot of a machine does. */
  void copyDisk() {
    copyOfDisk = disk == null ? null : disk.copy();
  }

  /** Kills the process and restores the copy of its disk, like a power loss. */
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

  /** Handles the end of a process that has stopped normally. The process starts again later. */
  void stopped() {
    process = null;
    world.scheduler().after(chance.millis(200, 5_000), name + " starts", this::start);
  }

  /** Sets the behaviour of the next writes to the journal. */
  void troubleDisk(SimulatedJournal.Trouble trouble) {
    if (disk != null && process != null) {
      disk.trouble(trouble);
    }
  }

  /** Returns whether this machine receives calls. */
  boolean isReady() {
    IngestProcess running = process;
    return running != null && !paused && running.isReady();
  }

  /**
   * Returns whether the machine has lost its disk, and its clock is behind the newest journal epoch
   * of the machine. The clock is up to 1,000 s behind if this epoch was random (decision 0008).
   * Until the clock has passed the epoch, no process starts. In production, operators must not
   * start a process before that time (seeds 51015086 and 130001663).
   */
  boolean awaitsItsClock() {
    return awaitsItsClock;
  }

  /** Sets the clock to just after the newest journal epoch, as an operator may do. */
  void setClockAfterLastOpening() {
    clock.step((newestEpoch + 1 - clock.epochMillis()) * 1_000);
  }

  /**
   * Sends a check. Returns null if the process died during the check. Then the caller gets no
   * response.
   */
  @Nullable CheckOutcome check(Call call) {
    return asked(running -> running.check(call));
  }

  /** Sends a settlement. Returns null in the same case as {@link #check}. */
  @Nullable SettleOutcome settle(CallQuery query, long actualCost) {
    return asked(running -> running.settle(query, actualCost));
  }

  /** Renews slots. Returns null in the same case as {@link #check}. */
  @Nullable SlotOutcome renewSlots(SlotToken token) {
    return asked(running -> running.renewSlots(token));
  }

  /** Releases slots. Returns null in the same case as {@link #check}. */
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

  /** Kills a crashed process, unless it is already dead. */
  void diedOf(IngestProcess crashed) {
    if (process == crashed) {
      kill(false);
    }
  }

  /** Records that the cache has admitted the current call. */
  void admitted(AdmittedTokens tokens) {
    IngestProcess running = process;
    if (running != null) {
      running.admitted(tokens);
    }
  }

  /** Records that the process has leased tokens. */
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
