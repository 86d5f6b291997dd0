// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Distinguishes a server that does not reply from a process that cannot read its replies.
 * Thread-safe.
 *
 * <p>A clock cannot distinguish the two: while other work occupies the processors, the reply may
 * have been waiting for a long time. The thread that reads the connection therefore looks at the
 * calls in flight between two reads, a hundred times within the deadline. A call counts as overdue
 * after that many looks, each after another read, have found no reply. A late look counts once,
 * however late it is. A delayed process therefore gives the server more time. A server on the same
 * machine, delayed by the same work, must run once while this thread runs a hundred times. With six
 * busy loops on two processors, the maximum was 18 times (77 ms).
 *
 * <p>From the first overdue call until the next reply the server is <i>silent</i>: nothing is sent,
 * and checks complete immediately.
 */
final class ReplyWatch {
  private static final Logger LOG = LoggerFactory.getLogger(ReplyWatch.class);

  /**
   * Number of looks within the deadline. Each look wakes the reading thread, which limits the
   * number.
   */
  private static final int LOOKS = 100;

  /** Shortest pause between two looks: the resolution of the reading thread's timers. */
  private static final long MIN_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Maximum pause between two looks, which bounds the delay in detecting a stall. */
  private static final long MAX_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

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
   * @param onSilence run at each look while the server is silent
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

  /** Returns whether a call is overdue and no reply has arrived since. */
  boolean isSilent() {
    return silent;
  }

  /**
   * Registers a call that is about to be sent; {@link #ended} must follow.
   *
   * @param onOverdue run once, by the reading thread, if there is no reply within the deadline
   */
  AwaitedReply begun(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    AwaitedReply reply = new AwaitedReply(connection, onOverdue);
    underWay.add(reply);
    wake();
    return reply;
  }

  /** Removes a call that has a reply or will never have one. */
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
      // the reading thread ends only with the link, which ends every call
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
    // pauses until the next call; a call that has just begun still saw looking == true, hence the
    // second check
    looking.set(false);
    if (!underWay.isEmpty()) {
      wake();
    }
  }

  private void lookAtAll() {
    long nowNanos = NanoClock.now();
    for (AwaitedReply reply : underWay) {
      reply.countUnansweredLook();
      if (reply.isOver(config.deadline(), nowNanos, pauseNanos)) {
        silent = true;
        reply.reportOverdue();
      }
      if (reply.isOver(config.stallTimeout(), nowNanos, pauseNanos)
          && link.current() == reply.connection()) {
        statistics.stalls.increment();
        link.drop(reply.connection(), Failures.noAnswerWithin(config.stallTimeout()));
      }
    }
    if (silent) {
      onSilence.run();
    }
  }
}
