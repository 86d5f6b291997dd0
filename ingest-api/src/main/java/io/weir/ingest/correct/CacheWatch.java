// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.ingest.clock.LocalClock;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.process.Backoff;
import io.weir.topics.process.SupervisedThread;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * A thread that detects when the cache has lost its state. The cache elects one node, which
 * publishes the loss. If the elected node cannot publish the loss, the node abandons the
 * restoration. Then any node may begin another restoration. The aggregator and the {@link
 * CorrectionLoop}s of all nodes perform the restoration.
 */
public final class CacheWatch implements AutoCloseable {
  /**
   * Maximum time between two checks of a restored cache. Each check also renews the cache's marker.
   */
  private static final Duration CHECK_INTERVAL = Duration.ofSeconds(1);

  /** Pause between two checks of a cache that is not restored. */
  private static final long MIN_PAUSE_MILLIS = 250;

  /** Maximum pause after a failure to publish the loss. */
  private static final long MAX_PAUSE_MILLIS = 5_000;

  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(3);

  private static final Logger LOG = LoggerFactory.getLogger(CacheWatch.class);

  private final CacheLife life;
  private final LossAnnouncer announcer;
  private final CorrectionStatistics statistics;
  private final LocalClock clock;
  private final LongSupplier cacheClockMillis;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private final SupervisedThread thread;

  /**
   * Time of the first check that found the cache not restored, in monotonic nanoseconds. Null while
   * the cache is restored, and before the first such check.
   */
  private @Nullable Long coldSinceNanos;

  /**
   * Whether this node has found the cache restored at least once. If this node has never found the
   * cache restored, the cache is probably new.
   */
  private boolean wasWarm;

  /**
   * The restoration that this node has published, until the node finds it complete; null if there
   * is none.
   */
  private @Nullable String announced;

  /** The restoration that this node still has to abandon in the cache; null if there is none. */
  private @Nullable String toAbandon;

  /** Publishes to all aggregators that the cache has lost its state. */
  public interface LossAnnouncer {
    /**
     * Writes the loss to every partition of the calls topic. Blocks for at most some seconds.
     *
     * @throws FailedException if the loss may be missing in a partition
     */
    void announce(CacheLoss loss) throws FailedException;

    /** Thrown when the loss may be missing in a partition. The message states the cause. */
    final class FailedException extends Exception {
      private static final long serialVersionUID = 1L;

      public FailedException(String message, Throwable cause) {
        super(message, cause);
      }
    }
  }

  /**
   * Creates a watch that has not yet checked the cache.
   *
   * @param cacheClockMillis returns this node's estimate of the cache's clock, which determines the
   *     time of calls
   */
  public CacheWatch(
      CacheLife life,
      LossAnnouncer announcer,
      CorrectionStatistics statistics,
      LocalClock clock,
      LongSupplier cacheClockMillis) {
    this.life = life;
    this.announcer = announcer;
    this.statistics = statistics;
    this.clock = clock;
    this.cacheClockMillis = cacheClockMillis;
    this.thread = new SupervisedThread("weir-cache-watch", new Looking());
  }

  void start() {
    thread.start();
  }

  /** Repeats the check. */
  private final class Looking implements SupervisedThread.Work {
    @Override
    public void run() throws InterruptedException {
      long pauseMillis = look();
      if (pauseMillis > 0) {
        thread.pause(pauseMillis);
      } else {
        life.awaitColdSignal(CHECK_INTERVAL);
      }
    }

    @Override
    public long failed(Throwable failure) {
      LOG.error("cache_watch_failed", failure);
      return MAX_PAUSE_MILLIS;
    }

    /** Does nothing, because the thread waits for the signal only briefly. */
    @Override
    public void wakeUp(Thread worker) {}
  }

  /**
   * Checks the cache once and takes the action that its state requires.
   *
   * @return the pause before the next check, in milliseconds; 0 to wait for a signal that the cache
   *     lost its state
   */
  public long look() {
    try {
      Warmth warmth = life.look();
      statistics.warmth(warmth);
      return switch (warmth) {
        case WARM -> warm();
        case COLD -> cold();
        case UNKNOWN -> MIN_PAUSE_MILLIS;
      };
    } catch (CacheUnavailableException unavailable) {
      LOG.debug("cache_watch_unanswered", unavailable);
      statistics.warmth(Warmth.UNKNOWN);
      return MIN_PAUSE_MILLIS;
    } catch (RuntimeException | Error fault) {
      LOG.error("cache_watch_failed", fault);
      statistics.warmth(Warmth.UNKNOWN);
      return MAX_PAUSE_MILLIS;
    }
  }

  private long warm() {
    Long since = coldSinceNanos;
    if (since != null) {
      LOG.atLevel(wasWarm ? Level.WARN : Level.INFO)
          .log("cache_warm cold_ms={}", TimeUnit.NANOSECONDS.toMillis(clock.nowNanos() - since));
      coldSinceNanos = null;
    }
    wasWarm = true;
    if (announced != null) {
      statistics.restorationsCompleted.increment();
      announced = null;
    }
    return 0;
  }

  private long cold() throws CacheUnavailableException {
    if (coldSinceNanos == null) {
      coldSinceNanos = clock.nowNanos();
      // a cache that this node has never found restored is usually new
      LOG.atLevel(wasWarm ? Level.WARN : Level.INFO)
          .log(
              "cache_cold; the cache is new or has lost its state; the aggregator restores it "
                  + "from the records");
    }
    if (toAbandon != null) {
      abandon(toAbandon);
    }
    String generation = life.beginRestoration();
    if (generation == null) {
      return MIN_PAUSE_MILLIS;
    }
    try {
      announcer.announce(new CacheLoss(generation, cacheClockMillis.getAsLong()));
      announced = generation;
      statistics.restorationsBegun.increment();
      backoff.reset();
      LOG.info("restoration_begun generation={}", generation);
      return MIN_PAUSE_MILLIS;
    } catch (LossAnnouncer.FailedException failed) {
      statistics.restorationsAbandoned.increment();
      LOG.warn(
          "restoration_abandoned generation={} detail=\"{}\"", generation, failed.getMessage());
      long pauseMillis = backoff.failedMillis();
      abandon(generation);
      return pauseMillis;
    }
  }

  private void abandon(String generation) throws CacheUnavailableException {
    toAbandon = generation;
    life.abandonRestoration(generation);
    toAbandon = null;
  }

  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
  }
}
