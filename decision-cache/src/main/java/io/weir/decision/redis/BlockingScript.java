// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.correction.CacheUnavailableException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A script that is called seldom, by a thread that waits for it. Safe for threads. */
final class BlockingScript {
  /** Longest wait for an answer; a call costs the server a few milliseconds at most. */
  private static final long TIMEOUT_MILLIS = 1_000;

  private final RedisScript script;
  private final RedisLink link;
  private final @Nullable ReplyWatch watch;

  /**
   * A script.
   *
   * @param watch that of the decisions which share the link, and alone gives its connection up: the
   *     caller's time-out may be this process' own pause; null when no decision does
   */
  BlockingScript(RedisScript script, RedisLink link, @Nullable ReplyWatch watch) {
    this.script = script;
    this.link = link;
    this.watch = watch;
  }

  /**
   * Calls the script; loads it and calls again, once, when the server does not know it.
   *
   * @return the reply, null when the script answered nil
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
      }
      throw new CacheUnavailableException(Failures.undecided(failed).detail());
    } catch (RedisException refused) {
      throw new CacheUnavailableException(Failures.undecided(refused).detail());
    } catch (TimeoutException slow) {
      String why = "no answer for " + TIMEOUT_MILLIS + " ms";
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
    RedisFuture<byte @Nullable []> reply =
        connection
            .async()
            .<byte @Nullable []>evalsha(script.sha1(), ScriptOutputType.VALUE, keys, arguments);
    if (watch != null) {
      AwaitedReply awaited = watch.begun(connection, () -> {});
      reply.whenComplete((bytes, error) -> watch.ended(awaited));
    }
    return await(reply);
  }

  private static <T extends @Nullable Object> T await(Future<T> future)
      throws ExecutionException, TimeoutException, InterruptedException {
    return future.get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
  }
}
