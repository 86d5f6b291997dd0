// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.correction.CacheUnavailableException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A script that is called rarely. The caller blocks until the reply. Thread-safe. */
final class BlockingScript {
  private final RedisScript script;
  private final RedisLink link;
  private final @Nullable ReplyWatch watch;
  private final long timeoutMillis;

  /**
   * Creates a script that is called over a link.
   *
   * @param watch the watch of the link's decisions; null if no decisions use the link. With a
   *     watch, this script leaves the connection open after a timeout, because a pause of this
   *     process may have caused the timeout. The watch closes the connection if the server does not
   *     reply
   * @param timeout maximum time to wait for a reply; the server needs at most a few milliseconds
   *     for a call
   */
  BlockingScript(RedisScript script, RedisLink link, @Nullable ReplyWatch watch, Duration timeout) {
    this.script = script;
    this.link = link;
    this.watch = watch;
    this.timeoutMillis = timeout.toMillis();
  }

  /**
   * Calls the script. If the server does not have the script, loads the script and calls it again.
   *
   * @return the reply; null if the script returned nil
   * @throws CacheUnavailableException if there is no connection, the server does not reply before
   *     the timeout, or the reply is an error
   */
  byte @Nullable [] call(byte[][] keys, byte[]... arguments) throws CacheUnavailableException {
    @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
    if (connection == null) {
      throw new CacheUnavailableException(link.reason());
    }
    try {
      try {
        return evaluate(connection, keys, arguments);
      } catch (ExecutionException failed) {
        if (!Failures.isNoScript(failed)) {
          throw failed;
        }
        await(connection.async().scriptLoad(script.body()));
        return evaluate(connection, keys, arguments);
      }
    } catch (ExecutionException failed) {
      if (Failures.isReadOnly(failed)) {
        link.drop(connection, "the server is a read-only replica");
      } else if (Failures.isForbiddenCommand(failed)) {
        link.drop(connection, Failures.describe(failed));
      }
      throw new CacheUnavailableException(Failures.undecided(failed).detail());
    } catch (RedisException refused) {
      throw new CacheUnavailableException(Failures.undecided(refused).detail());
    } catch (TimeoutException slow) {
      String why = "no reply for " + timeoutMillis + " ms";
      if (watch == null) {
        link.drop(connection, why);
      }
      throw new CacheUnavailableException(why);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new CacheUnavailableException("interrupted");
    }
  }

  private byte @Nullable [] evaluate(
      StatefulRedisConnection<byte[], byte[]> connection, byte[][] keys, byte[][] arguments)
      throws ExecutionException, TimeoutException, InterruptedException {
    RedisFuture<byte @Nullable []> reply = script.send(connection, 0, keys, arguments);
    if (watch != null) {
      ReplyWatch.AwaitedReply awaited = watch.begun(connection, () -> {});
      reply.whenComplete((bytes, error) -> watch.ended(awaited));
    }
    return await(reply);
  }

  private <T extends @Nullable Object> T await(Future<T> future)
      throws ExecutionException, TimeoutException, InterruptedException {
    return future.get(timeoutMillis, TimeUnit.MILLISECONDS);
  }
}
