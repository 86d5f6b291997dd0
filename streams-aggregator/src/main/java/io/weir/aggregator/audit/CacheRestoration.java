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
 * The progress of one restoration of a cache that lost its state: a correction of every live bucket
 * is published again. It continues after a restart of the process. A restoration that is begun
 * while another is in progress, since another server of the cache has lost its state, too, or the
 * same one again, begins with the first bucket and is for both: whatever is published after the
 * later loss is published after the earlier one. Not thread-safe.
 */
final class CacheRestoration {
  private static final int VERSION = 1;
  private static final byte[] KEY = {'r'};

  /** Separates generations, of which none contains it. */
  private static final String SEPARATOR = ",";

  /** More than a cache has servers; the oldest generations give up their place to newer ones. */
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
   * @param before the one in progress, which this one includes; null if there is none
   * @param generation identifies the run of the cache's server that has lost its state
   * @param lostAtMillis every call decided before the loss was decided before this time
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

  /** Loads the restoration that is in progress, or returns null if there is none. */
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

  /** Writes the progress. */
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

  /** Deletes the progress of a restoration that is complete. */
  void delete(ByteStore store) {
    store.delete(KEY);
  }

  /** Returns the runs of the cache's servers that have lost their state, the oldest loss first. */
  List<String> generations() {
    return generations;
  }

  /** Returns a time before which every call decided before the loss was decided. */
  long lostAtMillis() {
    return lostAtMillis;
  }

  /** Returns whether a correction of every live bucket was published. */
  boolean isAllPublished() {
    return isAllPublished;
  }

  /** Returns the number of buckets of which a correction was published. */
  long buckets() {
    return buckets;
  }

  /** Counts a bucket of which a correction was published. */
  void countBucket() {
    buckets++;
  }

  /** Notes that a chunk of buckets is done, and whether it was the last. */
  void advance(List<BucketAudit> chunk, boolean isLast) {
    if (!chunk.isEmpty()) {
      publishedThrough = chunk.get(chunk.size() - 1).bucket();
    }
    isAllPublished = isLast;
  }

  /** Returns the first key of the store whose bucket is not done yet. */
  byte[] nextKey() {
    return publishedThrough.isEmpty()
        ? AuditStore.firstKey()
        : AuditStore.keyBehind(publishedThrough);
  }
}
