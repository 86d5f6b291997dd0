// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.Decision;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One call of the script for the checks of many callers; every one of them is answered. */
final class ScriptCall {
  private final Environment environment;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final List<WaitingCheck> batch;
  private final long begunNanos = NanoClock.now();
  private int looksInVain;
  private boolean stalled;

  /**
   * What all calls of a cache share.
   *
   * @param script the script
   * @param onEnd given each call once, after all of its checks have been answered
   */
  record Environment(
      RedisCacheConfig config,
      RedisScript script,
      RedisLink link,
      CacheStatistics statistics,
      Suspicion suspicion,
      Consumer<ScriptCall> onEnd) {}

  /** How long the server has not answered a call, by the looks of {@link ReplyWatch}. */
  enum Silence {
    /** Not longer than it may. */
    NONE,
    /** For longer than the deadline: its callers have been told. */
    OVERDUE,
    /** For the stall timeout by now; said once. */
    STALLED
  }

  /**
   * A call.
   *
   * @param connection to send it over
   * @param batch the checks, at least one
   */
  ScriptCall(
      Environment environment,
      StatefulRedisConnection<byte[], byte[]> connection,
      List<WaitingCheck> batch) {
    this.environment = environment;
    this.connection = connection;
    this.batch = List.copyOf(batch);
  }

  /**
   * Takes note of one more look at the connection that found no answer; called by the reading
   * thread alone.
   */
  Silence lookedAtInVain(long nowNanos, long pauseNanos) {
    looksInVain++;
    Duration deadline = environment.config.deadline();
    if (!isOver(deadline, nowNanos, pauseNanos)) {
      return Silence.NONE;
    }
    Decision.Undecided overdue = Failures.silent(deadline);
    batch.forEach(check -> check.fail(overdue));
    if (stalled || !isOver(environment.config.stallTimeout(), nowNanos, pauseNanos)) {
      return Silence.OVERDUE;
    }
    stalled = true;
    return Silence.STALLED;
  }

  private boolean isOver(Duration limit, long nowNanos, long pauseNanos) {
    return looksInVain >= limit.toNanos() / pauseNanos && nowNanos - begunNanos >= limit.toNanos();
  }

  /** Gives the connection up since nothing has come back for the stall timeout. */
  void giveUpConnection() {
    environment.link.drop(connection, Failures.noAnswerWithin(environment.config.stallTimeout()));
  }

  void send() {
    send(true);
  }

  private void send(boolean mayLoad) {
    byte[][] arguments = new byte[1 + batch.size()][];
    arguments[0] = environment.link.life().getBytes(StandardCharsets.UTF_8);
    List<byte[]> keys = new ArrayList<>(1 + batch.size());
    keys.add(LifeKeys.marker());
    for (int i = 0; i < batch.size(); i++) {
      WaitingCheck check = batch.get(i);
      Collections.addAll(keys, check.keys());
      arguments[1 + i] = check.argument();
    }
    environment.statistics.countCall(batch.size());
    try {
      connection
          .async()
          .<byte[]>evalsha(
              environment.script.sha1(),
              ScriptOutputType.VALUE,
              keys.toArray(byte[][]::new),
              arguments)
          .whenComplete((reply, error) -> completed(reply, error, mayLoad));
    } catch (RedisException refused) {
      fail(Failures.undecided(refused));
    }
  }

  private void completed(byte @Nullable [] reply, @Nullable Throwable error, boolean mayLoad) {
    if (error == null) {
      answer(reply);
    } else if (mayLoad && Failures.isNoScript(error)) {
      loadAndSendAgain();
    } else {
      if (Failures.isReadOnly(error)) {
        environment.link.drop(connection, "the server is a read-only replica");
      }
      fail(Failures.undecided(error));
    }
  }

  /** A server that was restarted or told to forget its scripts has charged nothing yet. */
  private void loadAndSendAgain() {
    environment.statistics.countScriptLoad();
    try {
      connection
          .async()
          .scriptLoad(environment.script.body())
          .whenComplete(
              (sha1, error) -> {
                if (error == null) {
                  send(false);
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
    environment.suspicion.seen(read.warm());
    int offset = ScriptReply.HEAD_BYTES;
    for (WaitingCheck check : batch) {
      if (!check.tryAnswer(read, offset)) {
        environment.statistics.countLate();
      }
      offset += ScriptReply.bytesOf(check.keys().length);
    }
    environment.onEnd.accept(this);
  }

  private void fail(Decision.Undecided undecided) {
    batch.forEach(check -> check.fail(undecided));
    environment.onEnd.accept(this);
  }
}
