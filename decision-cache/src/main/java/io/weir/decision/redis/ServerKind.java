// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.BitSet;
import java.util.List;

/** The kinds of Redis servers. */
enum ServerKind {
  /**
   * A server that holds all keys, alone or with replicas. There is one marker for the whole server.
   */
  SINGLE {
    @Override
    int addMarkers(List<byte[]> keys, List<WaitingCheck> batch) {
      keys.add(LifeKeys.marker());
      return 1;
    }
  },
  /**
   * A primary of a Redis Cluster. A primary holds the keys of its slots. Each slot has a marker
   * that moves with the slot. The primary would reject a command with keys of several slots;
   * scripts therefore receive the keys as arguments.
   */
  OF_CLUSTER {
    @Override
    int addMarkers(List<byte[]> keys, List<WaitingCheck> batch) {
      BitSet slots = new BitSet();
      for (WaitingCheck check : batch) {
        for (byte[] key : check.keys()) {
          slots.set(SlotHash.getSlot(key));
        }
      }
      slots.stream().forEach(slot -> keys.add(LifeKeys.marker(slot)));
      return slots.cardinality();
    }
  };

  /** Adds the markers of a call to the keys of the call, and returns the number of markers. */
  abstract int addMarkers(List<byte[]> keys, List<WaitingCheck> batch);
}
