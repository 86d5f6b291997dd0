// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.BucketAudit;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The audits of all live buckets of a partition. The audits are in a store with a cache of decoded
 * audits in memory. Not thread-safe.
 */
final class AuditStore {
  /**
   * Maximum number of decoded audits in memory. An audit takes about 900 bytes, so the decoded
   * audits take at most 18 MB per partition.
   */
  static final int MAX_AUDITS_IN_MEMORY = 20_000;

  private static final byte[] FIRST_KEY = {'b'};
  private static final byte[] BEHIND_LAST_KEY = {'c'};

  private final ByteStore store;
  private final Packer packer = new Packer();
  private final Map<String, BucketAudit> inMemory = new HashMap<>();

  AuditStore(ByteStore store) {
    this.store = store;
  }

  /** Returns whether the store contains no bucket. */
  boolean isEmpty() {
    return store.scan(FIRST_KEY, BEHIND_LAST_KEY, 1).isEmpty();
  }

  /**
   * Returns the audit of a bucket, or null if the bucket is not live. Keeps the audit in memory.
   */
  @Nullable BucketAudit find(String bucket) {
    BucketAudit known = inMemory.get(bucket);
    if (known != null) {
      return known;
    }
    byte[] bytes = store.get(key(bucket));
    if (bytes == null) {
      return null;
    }
    BucketAudit audit = BucketAudit.decode(bytes);
    keep(audit);
    return audit;
  }

  /** Keeps an audit in memory, because it will change. */
  void keep(BucketAudit audit) {
    inMemory.put(audit.bucket(), audit);
  }

  /**
   * Returns stored audits in ascending order of their keys, beginning with a key. Does not keep the
   * returned audits in memory.
   *
   * @param from the first key, inclusive
   */
  List<BucketAudit> scan(byte[] from, int maxAudits) {
    List<BucketAudit> audits = new ArrayList<>();
    for (ByteStore.Entry entry : store.scan(from, BEHIND_LAST_KEY, maxAudits)) {
      BucketAudit known = inMemory.get(bucketOf(entry.key()));
      audits.add(known == null ? BucketAudit.decode(entry.value()) : known);
    }
    return audits;
  }

  /** Writes an audit to the store. */
  void save(BucketAudit audit) {
    store.put(key(audit.bucket()), audit.encode(packer));
  }

  /** Removes a bucket that is no longer live. */
  void forget(BucketAudit audit) {
    inMemory.remove(audit.bucket());
    store.delete(key(audit.bucket()));
  }

  /**
   * Removes all audits from memory if there are too many. The caller must have saved all changed
   * audits.
   */
  void trim() {
    if (inMemory.size() > MAX_AUDITS_IN_MEMORY) {
      inMemory.clear();
    }
  }

  /** Returns the key at which a scan of all buckets begins. */
  static byte[] firstKey() {
    return FIRST_KEY.clone();
  }

  /**
   * Returns the lowest key after the key of a bucket. A scan that has read the bucket can continue
   * at the returned key.
   */
  static byte[] keyBehind(String bucket) {
    return ByteStore.behind(key(bucket));
  }

  private static String bucketOf(byte[] key) {
    return new String(key, 1, key.length - 1, StandardCharsets.UTF_8);
  }

  private static byte[] key(String bucket) {
    return ("b" + bucket).getBytes(StandardCharsets.UTF_8);
  }
}
