// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.Decision;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One call of the script for the checks of many callers; every one of them is answered. */
final class ScriptCall {
  private final RedisScript script;
  private final RedisLink link;
  private final CacheStatistics statistics;
  private final Suspicion suspicion;
  private final List<WaitingCheck> batch;
  private final Runnable onEnd;

  /**
   * A call.
   *
   * @param batch the checks, at least one
   * @param onEnd run once, after all have been answered
   */
  ScriptCall(
      RedisScript script,
      RedisLink link,
      CacheStatistics statistics,
      Suspicion suspicion,
      List<WaitingCheck> batch,
      Runnable onEnd) {
    this.script = script;
    this.link = link;
    this.statistics = statistics;
    this.suspicion = suspicion;
    this.batch = List.copyOf(batch);
    this.onEnd = onEnd;
  }

  void send(StatefulRedisConnection<byte[], byte[]> connection) {
    send(connection, true);
  }

  private void send(StatefulRedisConnection<byte[], byte[]> connection, boolean mayLoad) {
    byte[][] arguments = new byte[1 + batch.size()][];
    arguments[0] = link.life().getBytes(StandardCharsets.UTF_8);
    List<byte[]> keys = new ArrayList<>(1 + batch.size());
    keys.add(LifeKeys.marker());
    for (int i = 0; i < batch.size(); i++) {
      WaitingCheck check = batch.get(i);
      Collections.addAll(keys, check.keys());
      arguments[1 + i] = check.argument();
    }
    statistics.countCall(batch.size());
    try {
      connection
          .async()
          .<byte[]>evalsha(
              script.sha1(), ScriptOutputType.VALUE, keys.toArray(byte[][]::new), arguments)
          .whenComplete((reply, error) -> completed(connection, reply, error, mayLoad));
    } catch (RedisException refused) {
      fail(Failures.undecided(refused));
    }
  }

  private void completed(
      StatefulRedisConnection<byte[], byte[]> connection,
      byte @Nullable [] reply,
      @Nullable Throwable error,
      boolean mayLoad) {
    if (error == null) {
      answer(reply);
    } else if (mayLoad && Failures.isNoScript(error)) {
      loadAndSendAgain(connection);
    } else {
      if (Failures.isReadOnly(error)) {
        link.drop(connection, "the server is a read-only replica");
      }
      fail(Failures.undecided(error));
    }
  }

  /** A server that was restarted or told to forget its scripts has charged nothing yet. */
  private void loadAndSendAgain(StatefulRedisConnection<byte[], byte[]> connection) {
    statistics.countScriptLoad();
    try {
      connection
          .async()
          .scriptLoad(script.body())
          .whenComplete(
              (sha1, error) -> {
                if (error == null) {
                  send(connection, false);
                } else {
                  fail(Failures.undecided(error));
                }
              });
    } catch (RedisException refused) {
      fail(Failures.undecided(refused));
    }
  }

  private void answer(byte @Nullable [] reply) {
    int expectedBytes = ScriptReply.HEAD_BYTES;
    for (WaitingCheck check : batch) {
      expectedBytes += ScriptReply.bytesOf(check.keys().length);
    }
    if (reply == null || reply.length != expectedBytes) {
      int bytes = reply == null ? 0 : reply.length;
      fail(ScriptReply.corrupt("the reply has " + bytes + " bytes, not " + expectedBytes));
      return;
    }
    ScriptReply read = new ScriptReply(reply);
    suspicion.seen(read.warm());
    int offset = ScriptReply.HEAD_BYTES;
    for (WaitingCheck check : batch) {
      if (check.isAbandoned()) {
        statistics.countLate();
      }
      check.answer(read, offset);
      offset += ScriptReply.bytesOf(check.keys().length);
    }
    onEnd.run();
  }

  private void fail(Decision.Undecided undecided) {
    batch.forEach(check -> check.fail(undecided));
    onEnd.run();
  }
}
