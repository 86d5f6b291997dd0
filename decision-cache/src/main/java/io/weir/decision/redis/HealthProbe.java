// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Asks the server once a second whether it answers, however many want to know: a question each
 * would share the connection with the decisions, and enough of them would displace these.
 */
final class HealthProbe {
  /** How old an answer may be. */
  static final Duration PAUSE = Duration.ofSeconds(1);

  private final RedisLink link;
  private final ReplyWatch watch;
  private final AtomicBoolean underWay = new AtomicBoolean();
  private volatile String failure = "";

  HealthProbe(RedisLink link, ReplyWatch watch) {
    this.link = link;
    this.watch = watch;
  }

  /** What was wrong when the server was asked last; empty when it answered. */
  String failure() {
    return failure;
  }

  /** Asks, unless the last question is not answered yet. Does not wait. */
  void probe() {
    @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
    if (connection == null || !underWay.compareAndSet(false, true)) {
      return;
    }
    AwaitedReply pong = watch.begun(connection, () -> {});
    try {
      connection.async().ping().whenComplete((answer, error) -> ended(pong, error));
    } catch (RedisException refused) {
      ended(pong, refused);
    }
  }

  private void ended(AwaitedReply pong, @Nullable Throwable error) {
    failure = error == null ? "" : Failures.undecided(error).detail();
    watch.ended(pong);
    underWay.set(false);
  }
}
