// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A probe that sends a request to the server once per second. Health checks use the result of the
 * last probe. Without the probe, each health check would send a request over the connection of the
 * decisions; many health checks would then delay decisions. If the server's time has a consumer,
 * the probe also requests the time. Thread-safe.
 */
final class HealthProbe {
  /** Time between two probes. */
  static final Duration PAUSE = Duration.ofSeconds(1);

  private static final long MICROS_PER_SECOND = 1_000_000;

  private final RedisLink link;
  private final ReplyWatch watch;
  private final AtomicBoolean underWay = new AtomicBoolean();
  private volatile String failure = "";
  private volatile @Nullable LongConsumer onServerTime;

  HealthProbe(RedisLink link, ReplyWatch watch) {
    this.link = link;
    this.watch = watch;
  }

  /** Returns the error of the last completed probe; empty if the server has replied. */
  String failure() {
    return failure;
  }

  /**
   * Sets the consumer of the server's time, in microseconds since 1970. The consumer is called at
   * each reply to TIME.
   */
  void onServerTime(LongConsumer consumer) {
    onServerTime = consumer;
  }

  /** Sends a probe. Does nothing while the last probe has no reply. Does not wait. */
  void probe() {
    @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
    if (connection == null || !underWay.compareAndSet(false, true)) {
      return;
    }
    ReplyWatch.AwaitedReply pong = watch.begun(connection, () -> {});
    try {
      LongConsumer consumer = onServerTime;
      if (consumer != null) {
        var unused = connection.async().time().thenAccept(time -> consumer.accept(micros(time)));
      }
      connection.async().ping().whenComplete((answer, error) -> ended(pong, error));
    } catch (RedisException refused) {
      ended(pong, refused);
    }
  }

  static long micros(List<byte[]> secondsAndMicros) {
    return number(secondsAndMicros.get(0)) * MICROS_PER_SECOND + number(secondsAndMicros.get(1));
  }

  private static long number(byte[] digits) {
    return Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
  }

  private void ended(ReplyWatch.AwaitedReply pong, @Nullable Throwable error) {
    failure = error == null ? "" : Failures.undecided(error).detail();
    watch.ended(pong);
    underWay.set(false);
  }
}
