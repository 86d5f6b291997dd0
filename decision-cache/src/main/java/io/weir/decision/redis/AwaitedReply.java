// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;

/**
 * A sent command without a reply, and the number of times that {@link ReplyWatch} has found no
 * reply. Not thread-safe: modified only by the thread that reads the connection.
 */
final class AwaitedReply {
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final Runnable onOverdue;
  private final long begunNanos = NanoClock.now();
  private int looksInVain;
  private boolean overdue;

  /**
   * Creates the entry of a command that is about to be sent.
   *
   * @param onOverdue run once if there is no reply within the deadline
   */
  AwaitedReply(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    this.connection = connection;
    this.onOverdue = onOverdue;
  }

  StatefulRedisConnection<byte[], byte[]> connection() {
    return connection;
  }

  /** Counts a look of the watch that found no reply. */
  void countUnansweredLook() {
    looksInVain++;
  }

  /** Returns whether the limit has elapsed, and all looks that fit into it have found no reply. */
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
