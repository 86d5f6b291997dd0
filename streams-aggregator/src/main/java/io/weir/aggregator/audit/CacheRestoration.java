// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A cache that lost its state is being told all live buckets again. Survives the process. Not safe
 * for threads.
 */
final class CacheRestoration {
  private static final int VERSION = 1;
  private static final byte[] KEY = {'r'};

  final String generation;

  /** When the broker took the word of the loss. */
  final long lostAtMillis;

  /** The bucket told last; empty before the first. */
  String toldThrough = "";

  /** Whether every bucket was told. */
  boolean toldAll;

  long buckets;

  CacheRestoration(String generation, long lostAtMillis) {
    this.generation = generation;
    this.lostAtMillis = lostAtMillis;
  }

  static @Nullable CacheRestoration load(ByteStore store) {
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return null;
    }
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    CacheRestoration restoration = new CacheRestoration(value.text(), value.integer());
    restoration.toldThrough = value.text();
    restoration.toldAll = value.bool();
    restoration.buckets = value.integer();
    return restoration;
  }

  void save(ByteStore store) {
    store.put(
        KEY,
        new Packer()
            .integer(VERSION)
            .text(generation)
            .integer(lostAtMillis)
            .text(toldThrough)
            .bool(toldAll)
            .integer(buckets)
            .toBytes());
  }

  void delete(ByteStore store) {
    store.delete(KEY);
  }

  /** The first key of the buckets store that was not told yet. */
  byte[] next() {
    byte[] told = ("b" + toldThrough).getBytes(StandardCharsets.UTF_8);
    return toldThrough.isEmpty() ? told : Arrays.copyOf(told, told.length + 1);
  }
}
