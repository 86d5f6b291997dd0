// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The intervals of event time for which calls may be missing because of journals that are no longer
 * in memory. An interval is kept forever, because reports on it remain incomplete. If the end of an
 * interval is unknown, the end is set when calls of the journal become too late to be counted. If
 * the maximum number of intervals is exceeded, the two closest intervals are merged. Reports may
 * then show too much time as incomplete, but never too little. Not thread-safe.
 */
final class PossibleGaps {
  /** Maximum number of intervals. */
  static final int MAX_INTERVALS = 64;

  private static final int VERSION = 1;
  private static final byte[] KEY = {'D'};

  private final ByteStore store;
  private final List<Gap> gaps = new ArrayList<>();

  private record Gap(Interval interval, long expiresAtEpochMillis) {}

  PossibleGaps(ByteStore store) {
    this.store = store;
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return;
    }
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    for (int left = value.count(); left > 0; left--) {
      gaps.add(new Gap(new Interval(value.integer(), value.integer()), value.integer()));
    }
  }

  /** Returns all intervals. */
  List<Interval> all() {
    return gaps.stream().map(Gap::interval).toList();
  }

  /**
   * Adds an interval.
   *
   * @param expiresAtEpochMillis time until which calls of the journal may still arrive
   */
  void add(Interval interval, long expiresAtEpochMillis) {
    gaps.add(new Gap(interval, expiresAtEpochMillis));
    if (gaps.size() > MAX_INTERVALS) {
      mergeClosest();
    }
    save();
  }

  private void mergeClosest() {
    gaps.sort(Comparator.comparingLong(gap -> gap.interval().fromEpochMillis()));
    int closest = 0;
    for (int i = 1; i + 1 < gaps.size(); i++) {
      closest = distanceToNext(i) < distanceToNext(closest) ? i : closest;
    }
    Gap other = gaps.remove(closest + 1);
    Gap one = gaps.get(closest);
    gaps.set(
        closest,
        new Gap(
            Interval.hull(one.interval(), other.interval()),
            Math.max(one.expiresAtEpochMillis(), other.expiresAtEpochMillis())));
  }

  private long distanceToNext(int index) {
    return gaps.get(index + 1).interval().fromEpochMillis()
        - gaps.get(index).interval().untilEpochMillis();
  }

  /** Sets the unknown end of an interval when its calls can no longer arrive. */
  void expire(long nowEpochMillis) {
    boolean changed = false;
    for (int i = 0; i < gaps.size(); i++) {
      Gap gap = gaps.get(i);
      if (gap.expiresAtEpochMillis() < nowEpochMillis
          && gap.interval().untilEpochMillis() > nowEpochMillis) {
        gaps.set(i, new Gap(gap.interval().until(nowEpochMillis), gap.expiresAtEpochMillis()));
        changed = true;
      }
    }
    if (changed) {
      save();
    }
  }

  private void save() {
    Packer value = new Packer().integer(VERSION).integer(gaps.size());
    for (Gap gap : gaps) {
      value
          .integer(gap.interval().fromEpochMillis())
          .integer(gap.interval().untilEpochMillis())
          .integer(gap.expiresAtEpochMillis());
    }
    store.put(KEY, value.toBytes());
  }
}
