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
 * Checks slots from the view of the callers. At any time of Redis' clock, the number of callers
 * with an unexpired lease is at most the number of slots. A released slot is free.
 */
final class SlotWitness {
  private final World world;

  /** The newest slots of each caller that still uses its slots. */
  private final Map<String, SlotToken> held = new HashMap<>();

  /**
   * The end of each lease in {@link #held}. If the clock stepped back, this end is earlier than the
   * end in the token.
   */
  private final Map<String, Long> ends = new HashMap<>();

  SlotWitness(World world) {
    this.world = world;
  }

  /** Records that a caller received slots from the cache. */
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

  /** Returns the slots that callers currently use. */
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

  /** Records that a caller no longer uses its slots. */
  void leaves(SlotToken token) {
    held.remove(token.claim().holder());
  }

  /**
   * Checks that the cache has freed the slots after a caller received the confirmation of a
   * release.
   */
  void released(SlotToken token) {
    for (SlotKey key : token.keys()) {
      if (world.redis().isHeld(key.text(), token.claim().holder())) {
        throw new InvariantBroken(
            Invariant.LIVENESS,
            token.claim().holder() + " has released its slot of " + key.text() + ", but holds it");
      }
    }
  }

  /**
   * Adapts the check to a clock that was set back: each lease keeps its remaining time, and an
   * expired lease stays expired.
   */
  void clockSetBack(long beforeEpochMicros, long byMicros) {
    held.keySet().removeIf(holder -> ends.getOrDefault(holder, 0L) <= beforeEpochMicros);
    ends.replaceAll((holder, end) -> end - byMicros);
  }

  /** Permitted excess: lost slots are free. */
  void cacheLost() {
    held.clear();
  }
}
