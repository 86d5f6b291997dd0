// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The consumer group of all nodes that apply corrections: the reader of each partition, and the
 * committed offsets. For a while after a reassignment, the former reader of a partition may
 * continue to read the partition.
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
    // the session of a dead member expires after a while
    world.scheduler().after(1_000_000, "a rebalance", this::rebalance);
  }

  /** Reassigns the partitions to the members. */
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

  /** Commits an offset if the node is still the partition's reader. */
  void commit(String node, int partition, long offset) {
    if (node.equals(readers.get(partition))) {
      committed[partition] = offset;
    }
  }

  /** Allows readers to go back to an earlier offset, once. */
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
