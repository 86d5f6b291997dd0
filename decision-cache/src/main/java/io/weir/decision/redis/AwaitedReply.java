// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;

/**
 * A sent command that has no reply, and the number of checks in which {@link ReplyWatch} has found
 * no reply. Not thread-safe: only the thread that reads the connection may use it.
 */
final class AwaitedReply {
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final Runnable onOverdue;
  private final long begunNanos = NanoClock.now();
  private int looksInVain;
  private boolean overdue;

  /**
   * Creates the entry of a command before the command is sent.
   *
   * @param onOverdue action that runs once if there is no reply before the deadline
   */
  AwaitedReply(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    this.connection = connection;
    this.onOverdue = onOverdue;
  }

  StatefulRedisConnection<byte[], byte[]> connection() {
    return connection;
  }

  /** Counts a check of the watch that found no reply. */
  void countUnansweredLook() {
    looksInVain++;
  }

  /**
   * Returns whether the limit has elapsed, and all checks of the watch within the limit have found
   * no reply.
   */
  boolean isOver(Duration limit, long nowNanos, long pauseNanos) {
    return looksInVain >= limit.toNanos() / pauseNanos && nowNanos - begunNanos >= limit.toNanos();
  }

  void reportOverdue() {
    if (!overdue) {
      overdue = true;
      onOverdue.run();
    }
  }
}
