// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One partition of a topic. All records of the partition are committed. */
final class SimulatedLog {
  private final SimClock brokerClock;
  private final List<Entry> entries = new ArrayList<>();
  private Consumer<Entry> witness = entry -> {};

  /**
   * A record.
   *
   * @param offset offset of the record
   * @param appendEpochMillis append time by the broker's clock
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Entry(
      long offset,
      long appendEpochMillis,
      byte @Nullable [] key,
      byte[] value,
      Map<String, byte[]> headers) {}

  SimulatedLog(SimClock brokerClock) {
    this.brokerClock = brokerClock;
  }

  Entry append(byte @Nullable [] key, byte[] value, Map<String, byte[]> headers) {
    Entry entry =
        new Entry(
            entries.size(),
            brokerClock.epochMillis(),
            key,
            value.clone(),
            new LinkedHashMap<>(headers));
    entries.add(entry);
    witness.accept(entry);
    return entry;
  }

  /** Registers a listener for all records that are appended from now on. */
  void onAppend(Consumer<Entry> listener) {
    witness = listener;
  }

  long end() {
    return entries.size();
  }

  Entry at(long offset) {
    return entries.get(Math.toIntExact(offset));
  }

  List<Entry> all() {
    return entries;
  }
}
