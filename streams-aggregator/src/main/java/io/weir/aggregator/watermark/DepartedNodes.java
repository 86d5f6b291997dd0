// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.aggregator.state.ByteStore;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The journals that the watermark no longer waits for. These journals are only in the store and not
 * in memory. The aggregator needs the journals to recognize repeated batches. Each journal takes
 * about 60 bytes. {@link #add} deletes old journals step by step. Not thread-safe.
 */
final class DepartedNodes {
  private static final byte[] FIRST_KEY = {'d'};
  private static final byte[] BEHIND_LAST_KEY = {'e'};
  private static final int EXAMINED_FOR_EACH = 2;

  private final ByteStore store;
  private byte[] examineFrom = FIRST_KEY;

  DepartedNodes(ByteStore store) {
    this.store = store;
  }

  /**
   * Adds a journal. Also examines two stored journals, and deletes each whose last record is older
   * than the horizon.
   */
  void add(NodeTrack track, long horizonEpochMillis) {
    forgetSome(horizonEpochMillis);
    store.put(key(track.node(), track.epoch()), NodeTrackBytes.encode(track));
  }

  private void forgetSome(long horizonEpochMillis) {
    List<ByteStore.Entry> entries = store.scan(examineFrom, BEHIND_LAST_KEY, EXAMINED_FOR_EACH);
    for (ByteStore.Entry entry : entries) {
      if (NodeTrackBytes.decode(entry.value()).lastAtEpochMillis() < horizonEpochMillis) {
        store.delete(entry.key());
      }
    }
    examineFrom =
        entries.size() < EXAMINED_FOR_EACH
            ? FIRST_KEY
            : ByteStore.behind(entries.get(entries.size() - 1).key());
  }

  /** Returns a journal, or null if it is unknown. */
  @Nullable NodeTrack find(String node, long epoch) {
    byte[] value = store.get(key(node, epoch));
    return value == null ? null : NodeTrackBytes.decode(value);
  }

  /**
   * Removes and returns a journal, because one of its records has arrived. Returns null if the
   * journal is unknown.
   */
  @Nullable NodeTrack remove(String node, long epoch) {
    NodeTrack track = find(node, epoch);
    if (track != null) {
      store.delete(key(node, epoch));
    }
    return track;
  }

  private static byte[] key(String node, long epoch) {
    return NodeTrackBytes.key(FIRST_KEY, node, epoch);
  }
}
