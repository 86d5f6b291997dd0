// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The consumer group of all appliers: who reads which partition of the corrections, and how far it
 * is answered. For a while after a change the former reader of a partition goes on with it, too.
 */
final class CorrectionGroup {
  private final World world;
  private final long[] committed;
  private final TreeMap<Integer, String> readers = new TreeMap<>();
  private final TreeMap<Integer, String> formerReaders = new TreeMap<>();
  private final List<String> members = new ArrayList<>();
  private boolean rereads;

  CorrectionGroup(World world, int partitions) {
    this.world = world;
    this.committed = new long[partitions];
  }

  void join(String node) {
    members.add(node);
    rebalance();
  }

  void leave(String node) {
    members.remove(node);
    // the session of a dead member lasts for a while
    world.scheduler().after(1_000_000, "a rebalance", this::rebalance);
  }

  /** Gives the partitions to the members anew. */
  void rebalance() {
    formerReaders.clear();
    if (world.isDisturbedBy(Fault.CORRECTIONS_DISORDERED)) {
      formerReaders.putAll(readers);
    }
    readers.clear();
    for (int partition = 0; partition < committed.length && !members.isEmpty(); partition++) {
      readers.put(partition, world.networkChance().pick(members));
    }
  }

  List<Integer> partitionsOf(String node) {
    List<Integer> partitions = new ArrayList<>();
    for (int partition = 0; partition < committed.length; partition++) {
      if (node.equals(readers.get(partition)) || node.equals(formerReaders.get(partition))) {
        partitions.add(partition);
      }
    }
    return partitions;
  }

  long committed(int partition) {
    return committed[partition];
  }

  /** A former reader commits no more. */
  void commit(String node, int partition, long offset) {
    if (node.equals(readers.get(partition))) {
      committed[partition] = offset;
    }
  }

  /** From now on each reader may go back to an earlier offset, once. */
  void reread() {
    rereads = true;
  }

  boolean wantsReread(String node, int partition) {
    boolean wanted = rereads && node.equals(readers.get(partition));
    if (wanted) {
      rereads = false;
    }
    return wanted;
  }
}
