// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.BitSet;
import java.util.List;

/**
 * The kinds of markers. A single server has one marker. In a cluster, each slot has a marker, which
 * moves with the slot.
 */
enum LifeMarkers {
  /** One marker for the whole server. */
  OF_SERVER {
    @Override
    int addTo(List<byte[]> keys, List<WaitingCheck> batch) {
      keys.add(LifeKeys.marker());
      return 1;
    }
  },

  /** One marker for each slot. */
  OF_SLOTS {
    @Override
    int addTo(List<byte[]> keys, List<WaitingCheck> batch) {
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

  /** Adds the markers of a call to its keys, and returns their number. */
  abstract int addTo(List<byte[]> keys, List<WaitingCheck> batch);
}
