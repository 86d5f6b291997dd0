// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * How long each bucket was wrong after a disturbance: from its first call until it was seen within
 * one token of the oracle, and stayed there to the end of the watch.
 */
final class HealTimes {
  private final List<Long> sortedMicros;
  private final List<String> neverHealed;
  private final int disturbed;

  private HealTimes(List<Long> sortedMicros, List<String> neverHealed, int disturbed) {
    this.sortedMicros = sortedMicros;
    this.neverHealed = neverHealed;
    this.disturbed = disturbed;
  }

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
    List<Long> healed = new ArrayList<>();
    List<String> never = new ArrayList<>();
    int disturbed = 0;
    for (Map.Entry<String, List<KeptBucket>> bucket : byBucket.entrySet()) {
      Optional<Long> firstCall = oracle.firstCallMicros(bucket.getKey(), disturbedAtMicros);
      if (firstCall.isEmpty()) {
        continue;
      }
      List<KeptBucket> looks = bucket.getValue();
      int lastWrong = lastWrong(oracle, looks, firstCall.get());
      if (lastWrong == looks.size() - 1) {
        KeptBucket last = looks.get(lastWrong);
        never.add(last + ", should be " + oracle.levelAt(last));
      } else if (lastWrong < 0) {
        healed.add(0L);
      } else {
        disturbed++;
        healed.add(looks.get(lastWrong + 1).atEpochMicros() - firstCall.get());
      }
    }
    healed.sort(Long::compare);
    return new HealTimes(healed, never, disturbed);
  }

  private static int lastWrong(Oracle oracle, List<KeptBucket> looks, long fromMicros) {
    for (int i = looks.size() - 1; i >= 0 && looks.get(i).atEpochMicros() >= fromMicros; i--) {
      KeptBucket look = looks.get(i);
      if (Math.abs(look.levelTokens() - oracle.levelAt(look)) > Standing.BUCKET_TOLERANCE_TOKENS) {
        return i;
      }
    }
    return -1;
  }

  /** Buckets that were called on and looked at. */
  int buckets() {
    return sortedMicros.size() + neverHealed.size();
  }

  /** Buckets that were seen to be wrong after their first call. */
  int disturbed() {
    return disturbed + neverHealed.size();
  }

  /** Buckets still wrong at the last look, and how. */
  List<String> neverHealed() {
    return neverHealed;
  }

  /** The time within which this part of all buckets was right again. */
  long percentileMillis(double percent) {
    int index = (int) Math.ceil(percent / 100 * buckets()) - 1;
    return index < sortedMicros.size()
        ? sortedMicros.get(Math.max(0, index)) / 1_000
        : Long.MAX_VALUE;
  }

  @Override
  public String toString() {
    return String.format(
        "buckets=%d disturbed=%d never_healed=%d p50_ms=%d p99_ms=%d",
        buckets(), disturbed(), neverHealed.size(), percentileMillis(50), percentileMillis(99));
  }
}
