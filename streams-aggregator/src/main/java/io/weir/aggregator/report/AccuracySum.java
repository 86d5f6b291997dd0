// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The accuracy figures summed over several partitions. Immutable.
 *
 * @param policies figures by policy name
 * @param corrections number of corrections by cause; contains every cause
 * @param delays number of corrections by class of delay; see {@link PartitionAccuracy#delays}
 */
record AccuracySum(
    SortedMap<String, Figures> policies, Map<Cause, Long> corrections, List<Long> delays) {

  AccuracySum {
    policies = Collections.unmodifiableSortedMap(policies);
    corrections = Collections.unmodifiableMap(corrections);
    delays = List.copyOf(delays);
  }

  /** Sums the figures of different partitions. */
  static AccuracySum of(Collection<PartitionAccuracy> partitions) {
    SortedMap<String, Figures> policies = new TreeMap<>();
    Map<Cause, Long> corrections = new EnumMap<>(Cause.class);
    for (Cause cause : Cause.values()) {
      corrections.put(cause, 0L);
    }
    long[] delays = new long[PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1];
    for (PartitionAccuracy partition : partitions) {
      partition
          .policies()
          .forEach((policy, figures) -> policies.merge(policy, figures, AccuracySum::add));
      partition.corrections().forEach((cause, count) -> corrections.merge(cause, count, Long::sum));
      for (int i = 0; i < delays.length; i++) {
        delays[i] += partition.delays().get(i);
      }
    }
    return new AccuracySum(policies, corrections, Arrays.stream(delays).boxed().toList());
  }

  /** Returns the sum of all policies' figures. */
  Figures fleet() {
    return policies.values().stream().reduce(Figures.NONE, AccuracySum::add);
  }

  /** Returns the number of corrections of all causes. */
  long correctionsTotal() {
    return corrections.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Returns the number of corrections whose delay is known. */
  long delayCount() {
    return delays.stream().mapToLong(Long::longValue).sum();
  }

  /**
   * Returns a percentile of the delays, rounded up to the upper bound of its class, in
   * milliseconds. Example: with 98 delays up to 100 ms and 2 delays up to 250 ms, the 99th
   * percentile is 250.
   *
   * @param percent the percentile, 1 to 100
   * @return the percentile; null if there are no delays, or if the percentile is in the last class,
   *     which has no upper bound
   */
  @Nullable Long delayMillis(int percent) {
    long rank = -Math.floorDiv(-delayCount() * percent, 100L); // rounded up
    long below = 0;
    for (int i = 0; i < delays.size() - 1; i++) {
      below += delays.get(i);
      if (rank > 0 && below >= rank) {
        return PartitionAccuracy.DELAY_BOUNDS_MILLIS.get(i);
      }
    }
    return null;
  }

  static Figures add(Figures one, Figures other) {
    return new Figures(
        one.decided() + other.decided(),
        one.wronglyAdmitted() + other.wronglyAdmitted(),
        one.wronglyDenied() + other.wronglyDenied(),
        one.driftNowTokens() + other.driftNowTokens(),
        one.outageTokens() + other.outageTokens(),
        one.outageOpenTokens() + other.outageOpenTokens());
  }
}
