// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.gate.SlotToken;
import io.weir.limits.SlotKey;
import io.weir.sim.InvariantBroken.Invariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks who holds slots, as the callers know it: at any time, by the cache's clock, no more of
 * them have been told by the cache that their lease still runs than there are slots; and a slot
 * that is released is free.
 */
final class SlotWitness {
  private final World world;

  /** The newest slots of each holder that the cache has given, and that it still relies on. */
  private final Map<String, SlotToken> held = new HashMap<>();

  /** When each of these leases ends: earlier than the token says if the clock stepped back. */
  private final Map<String, Long> ends = new HashMap<>();

  SlotWitness(World world) {
    this.world = world;
  }

  /** Notes that a caller was told by the cache that it holds slots. */
  void holds(SlotToken token) {
    held.put(token.claim().holder(), token);
    ends.put(token.claim().holder(), token.claim().untilEpochMicros());
    for (SlotKey key : token.keys()) {
      long holders = holders(key).size();
      if (holders > world.slots()) {
        throw new InvariantBroken(
            Invariant.ADMITTED,
            holders
                + " callers hold the "
                + world.slots()
                + " slots of "
                + key.text()
                + ": "
                + held);
      }
    }
  }

  /** Returns the slots that callers rely on at present. */
  private List<SlotToken> holders(SlotKey key) {
    long now = world.redis().clock().epochMicros();
    List<SlotToken> holders = new ArrayList<>();
    for (SlotToken token : held.values()) {
      boolean runs = ends.getOrDefault(token.claim().holder(), 0L) > now;
      if (runs && token.keys().stream().anyMatch(each -> each.text().equals(key.text()))) {
        holders.add(token);
      }
    }
    return holders;
  }

  /** Notes that a caller does not rely on its slots any more. */
  void leaves(SlotToken token) {
    held.remove(token.claim().holder());
  }

  /** Notes that a caller was told that its slots are released, and that the cache was asked. */
  void released(SlotToken token) {
    for (SlotKey key : token.keys()) {
      if (world.redis().isHeld(key.text(), token.claim().holder())) {
        throw new InvariantBroken(
            Invariant.LIVENESS,
            token.claim().holder() + " has released its slot of " + key.text() + ", and holds it");
      }
    }
  }

  /** A lease runs for as long as it did when the clock was set back; one that had ended is over. */
  void clockSetBack(long beforeEpochMicros, long byMicros) {
    held.keySet().removeIf(holder -> ends.getOrDefault(holder, 0L) <= beforeEpochMicros);
    ends.replaceAll((holder, end) -> end - byMicros);
  }

  /** Term: slots that are lost are free, whoever held them. */
  void cacheLost() {
    held.clear();
  }
}
