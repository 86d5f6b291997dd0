// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import java.util.BitSet;
import java.util.List;

/**
 * Which markers hold the run ID of a server whose state is complete: one, or in a cluster one for
 * each slot, which moves with it.
 */
enum LifeMarkers {
  /** One for the whole server. */
  OF_SERVER {
    @Override
    int addTo(List<byte[]> keys, List<WaitingCheck> batch) {
      keys.add(LifeKeys.marker());
      return 1;
    }
  },

  /** One for each slot. */
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

  /** Adds the markers of a call to its keys, and returns how many there are. */
  abstract int addTo(List<byte[]> keys, List<WaitingCheck> batch);
}
