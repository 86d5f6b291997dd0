// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Journals of which nothing is waited for any more. They are kept in the store alone, where they
 * cost some 60 bytes each and no work, so that their batches are still known should they come
 * again; each that comes makes room by looking whether two others are old enough to be forgotten.
 * Not safe for threads.
 */
final class DepartedNodes {
  private static final byte[] FIRST_KEY = {'d'};
  private static final byte[] BEHIND_LAST_KEY = {'e'};
  private static final int LOOKED_AT_FOR_EACH = 2;

  private final ByteStore store;
  private byte[] lookFrom = FIRST_KEY;

  DepartedNodes(ByteStore store) {
    this.store = store;
  }

  /** Keeps a journal, and forgets some that were heard of before the horizon last. */
  void add(NodeTrack track, long horizonEpochMillis) {
    forgetSome(horizonEpochMillis);
    store.put(key(track.node(), track.epoch()), NodeTrackBytes.encode(track));
  }

  private void forgetSome(long horizonEpochMillis) {
    List<ByteStore.Entry> entries = store.scan(lookFrom, BEHIND_LAST_KEY, LOOKED_AT_FOR_EACH);
    for (ByteStore.Entry entry : entries) {
      if (NodeTrackBytes.decode(entry.value()).lastAtEpochMillis() < horizonEpochMillis) {
        store.delete(entry.key());
      }
    }
    lookFrom =
        entries.size() < LOOKED_AT_FOR_EACH
            ? FIRST_KEY
            : ByteStore.behind(entries.get(entries.size() - 1).key());
  }

  /** A journal that is kept here; null when it is not known. */
  @Nullable NodeTrack find(String node, long epoch) {
    byte[] value = store.get(key(node, epoch));
    return value == null ? null : NodeTrackBytes.decode(value);
  }

  /** Takes a journal out again, since a record of it has come; null when it is not known. */
  @Nullable NodeTrack remove(String node, long epoch) {
    NodeTrack track = find(node, epoch);
    if (track != null) {
      store.delete(key(node, epoch));
    }
    return track;
  }

  private static byte[] key(String node, long epoch) {
    byte[] name = node.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(9 + name.length).put(FIRST_KEY).putLong(epoch).put(name).array();
  }
}
