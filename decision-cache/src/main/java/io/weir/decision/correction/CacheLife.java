// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Whether the cache's state can be trusted. It is <em>warm</em> while its marker names the life of
 * the server that answers; after a flush, a restart or a failover it is <em>cold</em> until every
 * partition has been restored. Safe for threads.
 */
public interface CacheLife extends AutoCloseable {
  /** How the cache stands. */
  enum Warmth {
    /** Its state is whole. */
    WARM,
    /** It has lost its state, or may have. */
    COLD,
    /** It does not answer. */
    UNKNOWN
  }

  /** Asks the cache, and renews the marker's time to live when it is warm. */
  Warmth look();

  /**
   * Waits until a decision has seen a cold cache, or the time is over; then {@link #look} tells.
   * Costs nothing while the cache is warm.
   */
  void awaitSuspicion(Duration atMost) throws InterruptedException;

  /**
   * Begins the restoration of a cold cache, unless it is warm or another node has begun one that is
   * still going on.
   *
   * @return the name of the generation to restore, for {@link io.weir.topics.model.CacheLoss}; null
   *     when there is nothing for this node to do
   */
  @Nullable String beginRestoration() throws CacheUnavailableException;

  /**
   * Gives a begun restoration up, since the loss could not be announced: any node may begin anew.
   */
  void abandonRestoration(String generation) throws CacheUnavailableException;

  /**
   * Notes that a partition is restored. The cache becomes warm when all have been noted for the
   * generation that is being restored; other generations are ignored. Repeating it changes nothing.
   *
   * @return true when the cache is warm now
   */
  boolean noteRestored(CacheRestored restored) throws CacheUnavailableException;

  @Override
  void close();
}
