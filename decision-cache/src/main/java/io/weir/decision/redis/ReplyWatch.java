// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Distinguishes a server that does not reply from a process that cannot read the replies.
 * Thread-safe.
 *
 * <p>A clock cannot distinguish these cases. If other work occupies the processors, a reply may
 * wait for a long time before this process reads the reply. The thread that reads the connection
 * therefore looks at the calls in flight between its reads, a hundred times per deadline. A call is
 * overdue when a hundred looks, each after a read, have found no reply. A late look also counts
 * once; a delayed process therefore gives the server more time. If the server runs on the same
 * machine, the same work may delay the server. But the server replies if it runs once while this
 * thread runs a hundred times. In a test with six busy loops on two processors, this thread ran at
 * most 18 times (77 ms) before the server ran.
 *
 * <p>From the first overdue call until the next reply, the server is <i>silent</i>. While the
 * server is silent, no calls are sent, and checks are undecided immediately.
 */
final class ReplyWatch {
  private static final Logger LOG = LoggerFactory.getLogger(ReplyWatch.class);

  /** Number of looks per deadline. Each look wakes up the reading thread. */
  private static final int LOOKS = 100;

  /** Minimum pause between two looks: the resolution of the reading thread's timers. */
  private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Maximum pause between two looks. A stall is detected with at most this delay. */
  private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /**
   * A sent command that has no reply yet. Only the thread that reads the connection looks at this
   * object.
   */
  static final class AwaitedReply {
    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final Runnable onOverdue;
    private final long begunNanos = NanoClock.now();

    /** Number of looks that found no reply. */
    private int looksInVain;

    private boolean overdue;

    private AwaitedReply(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
      this.connection = connection;
      this.onOverdue = onOverdue;
    }

    /**
     * Returns whether the limit has elapsed, and the looks within the limit have found no reply.
     */
    private boolean isOver(Duration limit, long nowNanos, long pauseNanos) {
      return looksInVain >= limit.toNanos() / pauseNanos
          && nowNanos - begunNanos >= limit.toNanos();
    }
  }

  private final RedisCacheConfig config;
  private final RedisLink link;
  private final Runnable onSilence;
  private final CacheStatistics statistics;
  private final long pauseNanos;
  private final Set<AwaitedReply> underWay = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean looking = new AtomicBoolean();
  private volatile boolean silent;

  /**
   * Creates a watch without calls.
   *
   * @param onSilence action that runs at each look while the server is silent
   */
  ReplyWatch(
      RedisCacheConfig config, RedisLink link, CacheStatistics statistics, Runnable onSilence) {
    this.config = config;
    this.link = link;
    this.statistics = statistics;
    this.onSilence = onSilence;
    this.pauseNanos =
        Math.min(Math.max(config.deadline().toNanos() / LOOKS, MIN_PAUSE_NANOS), MAX_PAUSE_NANOS);
  }

  /** Returns whether a call was overdue and no reply has arrived since then. */
  boolean isSilent() {
    return silent;
  }

  /**
   * Registers a call before it is sent. The caller must call {@link #ended} when the call ends.
   *
   * @param onOverdue action that the reading thread runs once if there is no reply within the
   *     deadline
   */
  AwaitedReply begun(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    AwaitedReply reply = new AwaitedReply(connection, onOverdue);
    underWay.add(reply);
    wake();
    return reply;
  }

  /** Removes a call that has received a reply or can no longer receive a reply. */
  void ended(AwaitedReply reply) {
    underWay.remove(reply);
    silent = false;
  }

  private void wake() {
    if (looking.compareAndSet(false, true)) {
      lookLater();
    }
  }

  private void lookLater() {
    try {
      var unused = link.reader().schedule(this::look, pauseNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closing) {
      // the reading thread ends only when the link is closed; the link then ends every call
      looking.set(false);
    }
  }

  private void look() {
    try {
      lookAtAll();
    } catch (RuntimeException | Error failed) {
      LOG.error("redis_reply_watch_failed", failed);
    }
    if (!underWay.isEmpty()) {
      lookLater();
      return;
    }
    // stops until the next call; a new call may have read looking == true just before, and the
    // calls are therefore checked again
    looking.set(false);
    if (!underWay.isEmpty()) {
      wake();
    }
  }

  private void lookAtAll() {
    long nowNanos = NanoClock.now();
    for (AwaitedReply reply : underWay) {
      reply.looksInVain++;
      if (reply.isOver(config.deadline(), nowNanos, pauseNanos)) {
        silent = true;
        if (!reply.overdue) {
          reply.overdue = true;
          reply.onOverdue.run();
        }
      }
      if (reply.isOver(config.stallTimeout(), nowNanos, pauseNanos)
          && link.current() == reply.connection) {
        statistics.stalls.increment();
        link.drop(reply.connection, Failures.noAnswerWithin(config.stallTimeout()));
      }
    }
    if (silent) {
      onSilence.run();
    }
  }
}
