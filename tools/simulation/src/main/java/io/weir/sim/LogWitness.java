// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.SlidingLog;
import io.weir.sim.InvariantBroken.Invariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks what each sliding log admits: in every window at most its limit. Keeps every admission
 * since the cache was last lost, which records do not make good.
 */
final class LogWitness {
  private final Map<String, List<Admission>> logs = new HashMap<>();

  private record Admission(long atMicros, long tokens, long endMicros) {}

  /**
   * Notes an admission.
   *
   * @param atMicros when the cache decided, by its clock
   */
  AdmittedTokens admitted(String bucket, SlidingLog limit, long tokens, long atMicros) {
    List<Admission> all = logs.computeIfAbsent(bucket, unseen -> new ArrayList<>());
    Admission admission = new Admission(atMicros, tokens, atMicros + limit.windowMicros());
    all.add(admission);
    long used = 0;
    for (Admission each : all) {
      // one that the clock dates ahead counts, too: the clock was set back
      used += each.endMicros() > atMicros ? each.tokens() : 0;
    }
    if (used > limit.capacityTokens()) {
      throw new InvariantBroken(
          Invariant.ADMITTED,
          bucket + " admits " + used + " tokens in a window of " + limit + ": " + all);
    }
    return () -> all.remove(admission);
  }

  /** Term: what had left its window is gone, though the clock was set back and shows it again. */
  void clockSetBack(long beforeEpochMicros) {
    logs.values().forEach(log -> log.removeIf(each -> each.endMicros() <= beforeEpochMicros));
  }

  /** Term: a log that is lost begins empty. */
  void cacheLost() {
    logs.clear();
  }
}
