// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;

/**
 * A command that was sent and is not answered, and how often {@link ReplyWatch} has looked for the
 * answer in vain. Only the thread that reads the connection changes it.
 */
final class AwaitedReply {
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final Runnable onOverdue;
  private final long begunNanos = NanoClock.now();
  private int looksInVain;
  private boolean overdue;

  /**
   * A command that is about to be sent.
   *
   * @param onOverdue run once, when it has not been answered within the deadline
   */
  AwaitedReply(StatefulRedisConnection<byte[], byte[]> connection, Runnable onOverdue) {
    this.connection = connection;
    this.onOverdue = onOverdue;
  }

  StatefulRedisConnection<byte[], byte[]> connection() {
    return connection;
  }

  /** Takes note of one more look that found no answer. */
  void lookedInVain() {
    looksInVain++;
  }

  /** Whether so much time has passed, and so many looks as fit into it. */
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
