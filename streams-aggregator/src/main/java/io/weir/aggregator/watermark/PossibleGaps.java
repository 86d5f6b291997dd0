// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The event times for which calls may be missing because of journals that are no longer kept in
 * memory. The list is bounded: when it is full, the two earliest intervals are replaced by one that
 * covers both, which reports too much rather than too little as incomplete. Not thread-safe.
 */
final class PossibleGaps {
  /** Most intervals kept. */
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

  /** Adds an interval that is kept until a time. */
  void add(Interval interval, long expiresAtEpochMillis) {
    gaps.add(new Gap(interval, expiresAtEpochMillis));
    if (gaps.size() > MAX_INTERVALS) {
      gaps.sort(Comparator.comparingLong(gap -> gap.interval().fromEpochMillis()));
      Gap one = gaps.remove(0);
      Gap other = gaps.remove(0);
      gaps.add(
          new Gap(
              Interval.hull(one.interval(), other.interval()),
              Math.max(one.expiresAtEpochMillis(), other.expiresAtEpochMillis())));
    }
    save();
  }

  /** Forgets the intervals of which no window can be adjusted any more. */
  void expire(long nowEpochMillis) {
    if (gaps.removeIf(gap -> gap.expiresAtEpochMillis() < nowEpochMillis)) {
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
