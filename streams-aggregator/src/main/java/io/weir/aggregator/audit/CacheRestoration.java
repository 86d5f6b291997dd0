// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.BucketAudit;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The progress of a restoration, which publishes a correction of every live bucket because the
 * cache has lost its state. A restoration continues after a restart of the process. If another
 * server loses its state during a restoration, a new restoration starts at the first bucket and
 * includes both losses. So each correction is published after both losses. Not thread-safe.
 */
final class CacheRestoration {
  private static final int VERSION = 1;
  private static final byte[] KEY = {'r'};

  /** Separator of the stored generations. No generation contains a comma. */
  private static final String SEPARATOR = ",";

  /**
   * Maximum number of generations, which is greater than the number of servers of a cache. Above
   * this number, a new generation replaces the oldest generation.
   */
  private static final int MAX_GENERATIONS = 1_000;

  private final List<String> generations;
  private final long lostAtMillis;
  private String publishedThrough = "";
  private boolean isAllPublished;
  private long buckets;

  private CacheRestoration(List<String> generations, long lostAtMillis) {
    this.generations = List.copyOf(generations);
    this.lostAtMillis = lostAtMillis;
  }

  /**
   * Begins a restoration.
   *
   * @param before the restoration in progress, which the new restoration includes; null if there is
   *     none
   * @param generation the generation of the cache that lost its state
   * @param lostAtMillis a time that is later than every call decided before the loss
   */
  static CacheRestoration begin(
      @Nullable CacheRestoration before, String generation, long lostAtMillis) {
    if (before == null) {
      return new CacheRestoration(List.of(generation), lostAtMillis);
    }
    List<String> all = new ArrayList<>(before.generations);
    all.remove(generation);
    all.add(generation);
    return new CacheRestoration(
        all.subList(Math.max(0, all.size() - MAX_GENERATIONS), all.size()),
        Math.max(before.lostAtMillis, lostAtMillis));
  }

  /** Loads the restoration in progress. Returns null if there is none. */
  static @Nullable CacheRestoration load(ByteStore store) {
    byte[] bytes = store.get(KEY);
    if (bytes == null) {
      return null;
    }
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    CacheRestoration restoration =
        new CacheRestoration(List.of(value.text().split(SEPARATOR, -1)), value.integer());
    restoration.publishedThrough = value.text();
    restoration.isAllPublished = value.bool();
    restoration.buckets = value.integer();
    return restoration;
  }

  /** Stores the progress. */
  void save(ByteStore store) {
    store.put(
        KEY,
        new Packer()
            .integer(VERSION)
            .text(String.join(SEPARATOR, generations))
            .integer(lostAtMillis)
            .text(publishedThrough)
            .bool(isAllPublished)
            .integer(buckets)
            .toBytes());
  }

  /** Deletes the stored progress of a complete restoration. */
  void delete(ByteStore store) {
    store.delete(KEY);
  }

  /** Returns the generations of the cache that lost their state, in the order of the losses. */
  List<String> generations() {
    return generations;
  }

  /** Returns a time that is later than every call decided before the loss. */
  long lostAtMillis() {
    return lostAtMillis;
  }

  /** Returns whether a correction has been published for every live bucket. */
  boolean isAllPublished() {
    return isAllPublished;
  }

  /** Returns the number of published corrections. */
  long buckets() {
    return buckets;
  }

  /** Counts a published correction. */
  void countBucket() {
    buckets++;
  }

  /**
   * Records that the corrections of a chunk of buckets have been published, and whether this chunk
   * was the last.
   */
  void advance(List<BucketAudit> chunk, boolean isLast) {
    if (!chunk.isEmpty()) {
      publishedThrough = chunk.get(chunk.size() - 1).bucket();
    }
    isAllPublished = isLast;
  }

  /** Returns the key in the store at which the next chunk begins. */
  byte[] nextKey() {
    return publishedThrough.isEmpty()
        ? AuditStore.firstKey()
        : AuditStore.keyBehind(publishedThrough);
  }
}
