// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The subscription of a {@link RedisLink} to the keys of raised buckets: buckets to which a
 * correction has added tokens. Thread-safe.
 */
final class RaisedSubscription {
  private static final Logger LOG = LoggerFactory.getLogger(RaisedSubscription.class);

  /** The message that tests whether the client may publish. */
  private static final byte[] NO_BUCKET = {};

  private final @Nullable Consumer<byte[]> onRaised;
  private final long timeoutMillis;
  private volatile boolean isWanted;

  /**
   * Creates a subscription without a connection.
   *
   * @param onRaised consumer of the keys; null if the keys are not needed
   * @param timeoutMillis timeout of each reply
   */
  RaisedSubscription(@Nullable Consumer<byte[]> onRaised, long timeoutMillis) {
    this.onRaised = onRaised;
    this.timeoutMillis = timeoutMillis;
    this.isWanted = onRaised != null;
  }

  /**
   * Returns whether to subscribe: the keys are needed, and no server has rejected the subscription.
   */
  boolean isWanted() {
    return isWanted;
  }

  /** Subscribes over a connection. Returns whether the subscription succeeded. */
  boolean subscribe(StatefulRedisConnection<byte[], byte[]> connection, ServerInfo server)
      throws InterruptedException, TimeoutException {
    if (onRaised == null
        || !isWanted
        || !(connection instanceof StatefulRedisPubSubConnection<byte[], byte[]> subscribing)) {
      return false;
    }
    if (!server.hasMessages()) {
      LOG.warn("redis_without_messages version={} effect=\"no deny cache\"", server.version());
      return false;
    }
    subscribing.addListener(
        new RedisPubSubAdapter<>() {
          @Override
          public void message(byte[] channel, byte[] bucket) {
            onRaised.accept(bucket);
          }
        });
    try {
      subscribing.async().subscribe(LifeKeys.raised()).get(timeoutMillis, TimeUnit.MILLISECONDS);
      // also tests whether the scripts may publish; without protocol 3, a subscribed connection
      // cannot send commands
      var unused =
          subscribing
              .async()
              .publish(LifeKeys.raised(), NO_BUCKET)
              .get(timeoutMillis, TimeUnit.MILLISECONDS);
      return true;
    } catch (ExecutionException | RedisException forbidden) {
      if (connection.isOpen() && !Failures.isLoss(forbidden)) {
        LOG.warn(
            "redis_subscription_refused reason=\"{}\" effect=\"no deny cache\"",
            Failures.rootMessage(forbidden));
        // not set after a loss of the connection, because the server has not rejected the
        // subscription
        isWanted = false;
      }
      return false;
    }
  }
}
