// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;

/**
 * A command that was sent and not yet answered, with the number of times that {@link ReplyWatch}
 * has found no answer. Not thread-safe: modified only by the thread that reads the connection.
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
   * @param onOverdue run once if the command is not answered within the deadline
   */
  AwaitedReply(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    this.connection = connection;
    this.onOverdue = onOverdue;
  }

  StatefulRedisConnection<byte[], byte[]> connection() {
    return connection;
  }

  /** Counts one more look that found no answer. */
  void lookedInVain() {
    looksInVain++;
  }

  /**
   * Returns whether the limit has elapsed and as many looks as fit into it have found no answer.
   */
  boolean isOver(Duration limit, long nowNanos, long pauseNanos) {
    return looksInVain >= limit.toNanos() / pauseNanos && nowNanos - begunNanos >= limit.toNanos();
  }

  void tellOverdue() {
    if (!overdue) {
      overdue = true;
      onOverdue.run();
    }
  }
}
