// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.SlidingLog;
import io.weir.sim.InvariantBroken.Invariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that each sliding log admits at most its limit in every window. Stores all admissions
 * since the last loss of the cache, because corrections do not restore sliding logs.
 */
final class LogWitness {
  private final Map<String, List<Admission>> logs = new HashMap<>();

  private record Admission(long atMicros, long tokens, long endMicros) {}

  /**
   * Records an admission.
   *
   * @param atMicros time of the decision by the cache's clock
   */
  AdmittedTokens admitted(String bucket, SlidingLog limit, long tokens, long atMicros) {
    List<Admission> all = logs.computeIfAbsent(bucket, unseen -> new ArrayList<>());
    Admission admission = new Admission(atMicros, tokens, atMicros + limit.windowMicros());
    all.add(admission);
    long used = 0;
    for (Admission each : all) {
      // an admission with a later time also counts, because the clock was set back
      used += each.endMicros() > atMicros ? each.tokens() : 0;
    }
    if (used > limit.capacityTokens()) {
      throw new InvariantBroken(
          Invariant.ADMITTED,
          bucket + " admits " + used + " tokens in a window of " + limit + ": " + all);
    }
    return () -> all.remove(admission);
  }

  /**
   * Permitted excess: admissions that had left the window do not count again after the clock was
   * set back.
   */
  void clockSetBack(long beforeEpochMicros) {
    logs.values().forEach(log -> log.removeIf(each -> each.endMicros() <= beforeEpochMicros));
  }

  /** Permitted excess: a lost sliding log begins empty. */
  void cacheLost() {
    logs.clear();
  }
}
