// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Determines whether the state of a cache is complete, and coordinates its restoration. The cache
 * stores a marker with the run ID of a server. The cache is <em>warm</em> (restored) while the
 * marker contains the run ID of the server that replies. After a flush, a restart or a failover,
 * the cache is <em>cold</em> (not restored) until every partition has been restored. Thread-safe.
 */
public interface CacheLife extends AutoCloseable {
  /** The completeness of a cache's state. */
  enum Warmth {
    /** The state of the cache is complete. */
    WARM,
    /** The cache has lost its state, or may have lost its state. */
    COLD,
    /** The cache is unavailable. */
    UNKNOWN
  }

  /** Queries the cache. If the cache is restored, also renews the marker's time to live. */
  Warmth look();

  /**
   * Waits until a decision has found that the cache is not restored, or until the time has elapsed.
   * The caller must then call {@link #look}, because this method sends no request to the cache.
   */
  void awaitColdSignal(Duration atMost) throws InterruptedException;

  /**
   * Begins the restoration of a cold cache. Has no effect if another node is restoring the cache.
   *
   * @return the generation to restore, for {@link io.weir.topics.model.CacheLoss}; null if the
   *     cache is restored or another node is restoring the cache
   * @throws CacheUnavailableException if the cache does not reply
   */
  @Nullable String beginRestoration() throws CacheUnavailableException;

  /**
   * Abandons a restoration, because the node could not write the {@link
   * io.weir.topics.model.CacheLoss} to Kafka. After this, any node may begin another restoration.
   *
   * @throws CacheUnavailableException if the cache does not reply
   */
  void abandonRestoration(String generation) throws CacheUnavailableException;

  /**
   * Records in the cache that a partition is restored. The cache becomes warm when all partitions
   * of the current generation are recorded. A partition of another generation is ignored.
   * Idempotent.
   *
   * @return true if the cache is restored now
   * @throws CacheUnavailableException if the cache does not reply
   */
  boolean noteRestored(CacheRestored restored) throws CacheUnavailableException;

  @Override
  void close();
}
