// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How long buckets were wrong after a disturbance: from a bucket's first call until it was seen
 * within one token of the oracle, and stayed there to the end of the watch. A bucket that was set
 * right before anyone called on it was wrong for no time.
 */
final class HealTimes {
  private final List<Long> sinceFirstCallMicros = new ArrayList<>();
  private final List<Long> sinceDisturbanceMicros = new ArrayList<>();
  private final List<String> neverHealed = new ArrayList<>();

  private HealTimes() {}

  /**
   * Measures.
   *
   * @param seen looks at buckets, in the order of time
   * @param disturbedAtMicros when it happened, by Redis' clock
   */
  static HealTimes of(Oracle oracle, List<KeptBucket> seen, long disturbedAtMicros) {
    Map<String, List<KeptBucket>> byBucket = new HashMap<>();
    for (KeptBucket kept : seen) {
      if (kept.atEpochMicros() > disturbedAtMicros && oracle.buckets().contains(kept.bucket())) {
        byBucket.computeIfAbsent(kept.bucket(), key -> new ArrayList<>()).add(kept);
      }
    }
    HealTimes times = new HealTimes();
    byBucket.forEach((bucket, looks) -> times.add(oracle, bucket, looks, disturbedAtMicros));
    times.sinceFirstCallMicros.sort(Long::compare);
    times.sinceDisturbanceMicros.sort(Long::compare);
    return times;
  }

  private void add(Oracle oracle, String bucket, List<KeptBucket> looks, long disturbedAtMicros) {
    int lastWrong = lastWrong(oracle, looks);
    if (lastWrong == looks.size() - 1) {
      KeptBucket last = looks.get(lastWrong);
      neverHealed.add(last + ", should be " + oracle.levelAt(last));
      return;
    }
    long rightAt = looks.get(lastWrong + 1).atEpochMicros();
    if (lastWrong >= 0) {
      sinceDisturbanceMicros.add(rightAt - disturbedAtMicros);
    }
    oracle
        .firstCallMicros(bucket, disturbedAtMicros)
        .ifPresent(
            call -> sinceFirstCallMicros.add(lastWrong < 0 ? 0 : Math.max(0, rightAt - call)));
  }

  private static int lastWrong(Oracle oracle, List<KeptBucket> looks) {
    int last = looks.size() - 1;
    while (last >= 0 && !isWrong(oracle, looks.get(last))) {
      last--;
    }
    return last;
  }

  private static boolean isWrong(Oracle oracle, KeptBucket look) {
    return Math.abs(look.levelTokens() - oracle.levelAt(look)) > Standing.BUCKET_TOLERANCE_TOKENS;
  }

  /** Buckets that were seen to be wrong after the disturbance. */
  int disturbed() {
    return sinceDisturbanceMicros.size() + neverHealed.size();
  }

  /** Buckets still wrong at the last look, and how. */
  List<String> neverHealed() {
    return neverHealed;
  }

  /** The time since their first call within which this part of the called buckets was right. */
  long sinceFirstCallMillis(double percent) {
    return millis(sinceFirstCallMicros, percent);
  }

  private static long millis(List<Long> sortedMicros, double percent) {
    int index = (int) Math.ceil(percent / 100 * sortedMicros.size()) - 1;
    return sortedMicros.isEmpty() ? 0 : sortedMicros.get(Math.max(0, index)) / 1_000;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "disturbed=%d never_healed=%d since_first_call_ms_p50=%d p99=%d since_disturbance_ms_p50=%d"
            + " p99=%d",
        disturbed(),
        neverHealed.size(),
        millis(sinceFirstCallMicros, 50),
        millis(sinceFirstCallMicros, 99),
        millis(sinceDisturbanceMicros, 50),
        millis(sinceDisturbanceMicros, 99));
  }
}
