// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.SeenIds;
import io.weir.aggregator.state.ByteStore;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A store that undoes the writes of an aborted transaction. */
final class TransactionalStore implements ByteStore, SeenIds {
  private final TreeMap<byte[], byte[]> map = new TreeMap<>(Arrays::compareUnsigned);
  private final Deque<Undo> undos = new ArrayDeque<>();

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Undo(byte[] key, byte @Nullable [] before) {}

  @Override
  public byte @Nullable [] get(byte[] key) {
    return map.get(key);
  }

  @Override
  public void put(byte[] key, byte[] value) {
    undos.push(new Undo(key, map.put(key, value)));
  }

  @Override
  public void delete(byte[] key) {
    byte[] before = map.remove(key);
    if (before != null) {
      undos.push(new Undo(key, before));
    }
  }

  @Override
  public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
    List<Entry> entries = new ArrayList<>();
    for (Map.Entry<byte[], byte[]> entry : map.subMap(from, to).entrySet()) {
      if (entries.size() == maxEntries) {
        break;
      }
      entries.add(new Entry(entry.getKey(), entry.getValue()));
    }
    return entries;
  }

  @Override
  public @Nullable String find(byte[] key, long appendEpochMillis) {
    byte[] known = map.get(key);
    return known == null ? null : new String(known, StandardCharsets.US_ASCII);
  }

  @Override
  public void remember(byte[] key, String text, long appendEpochMillis) {
    put(key, text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Returns whether the open transaction has written a key. */
  boolean isUncommitted(byte[] key) {
    return undos.stream().anyMatch(undo -> Arrays.equals(undo.key, key));
  }

  void commit() {
    undos.clear();
  }

  void rollBack() {
    for (Undo undo = undos.poll(); undo != null; undo = undos.poll()) {
      if (undo.before == null) {
        map.remove(undo.key);
      } else {
        map.put(undo.key, undo.before);
      }
    }
  }
}
