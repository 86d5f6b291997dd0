// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Event times that journals may hide which are not kept in memory any more. A bounded list: when it
 * is full, the two earliest become one that covers both, which doubts too much rather than too
 * little. Not safe for threads.
 */
final class PossibleGaps {
  /** Most intervals told apart. */
  static final int MAX_INTERVALS = 64;

  private static final int VERSION = 1;
  private static final byte[] KEY = {'D'};

  private final ByteStore store;
  private final List<Doubt> doubts = new ArrayList<>();

  private record Doubt(Interval hidden, long expiresAtEpochMillis) {}

  PossibleGaps(ByteStore store) {
    this.store = store;
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return;
    }
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    for (int left = value.count(); left > 0; left--) {
      doubts.add(new Doubt(new Interval(value.integer(), value.integer()), value.integer()));
    }
  }

  /** All of them. */
  List<Interval> all() {
    return doubts.stream().map(Doubt::hidden).toList();
  }

  /** PossibleGaps a time until a moment. */
  void add(Interval hidden, long expiresAtEpochMillis) {
    doubts.add(new Doubt(hidden, expiresAtEpochMillis));
    if (doubts.size() > MAX_INTERVALS) {
      doubts.sort(Comparator.comparingLong(doubt -> doubt.hidden().fromEpochMillis()));
      Doubt one = doubts.remove(0);
      Doubt other = doubts.remove(0);
      doubts.add(
          new Doubt(
              Interval.hull(one.hidden(), other.hidden()),
              Math.max(one.expiresAtEpochMillis(), other.expiresAtEpochMillis())));
    }
    save();
  }

  /** Forgets those that no window can be asked for any more. */
  void expire(long nowEpochMillis) {
    if (doubts.removeIf(doubt -> doubt.expiresAtEpochMillis() < nowEpochMillis)) {
      save();
    }
  }

  private void save() {
    Packer value = new Packer().integer(VERSION).integer(doubts.size());
    for (Doubt doubt : doubts) {
      value
          .integer(doubt.hidden().fromEpochMillis())
          .integer(doubt.hidden().untilEpochMillis())
          .integer(doubt.expiresAtEpochMillis());
    }
    store.put(KEY, value.toBytes());
  }
}
