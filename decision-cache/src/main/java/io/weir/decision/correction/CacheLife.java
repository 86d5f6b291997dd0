// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Tracks whether the cache's state can be trusted. The cache is <em>warm</em> while its marker
 * contains the run ID of the server that replies. After a flush, a restart or a failover it is
 * <em>cold</em> until every partition has been restored. Thread-safe.
 */
public interface CacheLife extends AutoCloseable {
  /** The condition of the cache. */
  enum Warmth {
    /** The cache's state is complete. */
    WARM,
    /** The cache has lost its state, or may have lost it. */
    COLD,
    /** The cache is unavailable. */
    UNKNOWN
  }

  /** Queries the cache, and renews the marker's time to live if the cache is warm. */
  Warmth look();

  /**
   * Waits until a decision has found the cache cold, or the time has elapsed. {@link #look} then
   * returns the condition. Has no cost while the cache is warm.
   */
  void awaitColdSignal(Duration atMost) throws InterruptedException;

  /**
   * Begins the restoration of a cold cache, unless it is warm or another node's restoration is in
   * progress.
   *
   * @return the name of the generation to restore, for {@link io.weir.topics.model.CacheLoss}; null
   *     if this node must not restore
   * @throws CacheUnavailableException if the cache does not answer
   */
  @Nullable String beginRestoration() throws CacheUnavailableException;

  /**
   * Abandons a restoration because the loss of state could not be announced. Any node may then
   * begin another restoration.
   *
   * @throws CacheUnavailableException if the cache does not answer
   */
  void abandonRestoration(String generation) throws CacheUnavailableException;

  /**
   * Records that a partition is restored. The cache becomes warm when all partitions have been
   * recorded for the generation being restored. Other generations are ignored. Idempotent.
   *
   * @return true if the cache is warm now
   * @throws CacheUnavailableException if the cache does not answer
   */
  boolean noteRestored(CacheRestored restored) throws CacheUnavailableException;

  @Override
  void close();
}
