// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.deny.DenyCache;
import io.weir.limits.check.Decision;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One script call for the checks of many callers. This object completes the decisions of all these
 * checks.
 */
final class ScriptCall {
  private final Environment environment;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final List<WaitingCheck> batch;
  private final ReplyWatch.AwaitedReply reply;
  private final AtomicBoolean ended = new AtomicBoolean();

  /**
   * The objects that all calls of a cache share.
   *
   * @param denyCache cache of denials; receives the denials in the order in which the server made
   *     them
   * @param watch watch that detects calls without a reply
   * @param onEnd consumer of each call that has ended; called once per call
   */
  record Environment(
      RedisCacheConfig config,
      RedisScript script,
      RedisLink link,
      CacheStatistics statistics,
      ColdSignal coldSignal,
      DenyCache denyCache,
      ReplyWatch watch,
      Consumer<ScriptCall> onEnd) {}

  /**
   * Creates a call.
   *
   * @param connection the connection over which the call is sent
   * @param batch the checks, at least one
   */
  ScriptCall(
      Environment environment,
      StatefulRedisConnection<byte[], byte[]> connection,
      List<WaitingCheck> batch) {
    this.environment = environment;
    this.connection = connection;
    this.batch = List.copyOf(batch);
    this.reply = environment.watch.begun(connection, this::reportOverdue);
  }

  /** Sends the call. The call ends exactly once, with or without a reply. */
  void send() {
    guarded(() -> send(true));
  }

  /**
   * Runs a step. If the step throws an exception, the checks become undecided and the call ends.
   */
  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error fault) {
      environment.statistics.faultsOf().note("a script call", fault);
      fail(Failures.fault(fault));
    }
  }

  private void reportOverdue() {
    Decision.Undecided overdue = Failures.silent(environment.config.deadline());
    answerAll(overdue);
  }

  private void send(boolean mayLoad) {
    byte[][] arguments = new byte[1 + batch.size()][];
    arguments[0] = environment.link.life().getBytes(StandardCharsets.UTF_8);
    List<byte[]> keys = new ArrayList<>(1 + batch.size());
    int markers = environment.script.kind().addMarkers(keys, batch);
    for (int i = 0; i < batch.size(); i++) {
      WaitingCheck check = batch.get(i);
      Collections.addAll(keys, check.keys());
      arguments[1 + i] = check.argument();
    }
    environment.statistics.countCall(batch.size());
    try {
      environment
          .script
          .send(connection, markers, keys.toArray(byte[][]::new), arguments)
          .whenComplete((bytes, error) -> guarded(() -> completed(bytes, error, mayLoad)));
    } catch (RedisException refused) {
      fail(Failures.undecided(refused));
    }
  }

  private void completed(byte @Nullable [] bytes, @Nullable Throwable error, boolean mayLoad) {
    if (error == null) {
      answer(bytes);
    } else if (mayLoad && Failures.isNoScript(error)) {
      loadAndSendAgain();
    } else {
      if (Failures.isReadOnly(error)) {
        environment.link.drop(connection, "the server is a read-only replica");
        if (environment.script.kind() == ServerKind.OF_CLUSTER) {
          fail(Failures.MOVED); // the replica wrote nothing, and another server has taken over
          return;
        }
      } else if (Failures.isClusterMode(error)) {
        environment.link.drop(connection, Failures.CLUSTER_MODE);
      } else if (Failures.isForbiddenCommand(error)) {
        environment.link.drop(connection, Failures.describe(error));
      }
      fail(Failures.undecided(error));
    }
  }

  /**
   * Loads the script and sends the call again. The server did not have the script, because of a
   * restart or SCRIPT FLUSH, and therefore has charged nothing.
   */
  private void loadAndSendAgain() {
    environment.statistics.scriptLoads.increment();
    try {
      connection
          .async()
          .scriptLoad(environment.script.body())
          .whenComplete(
              (sha1, error) -> {
                if (error == null) {
                  guarded(() -> send(false));
                } else {
                  fail(Failures.undecided(error));
                }
              });
    } catch (RedisException refused) {
      fail(Failures.undecided(refused));
    }
  }

  private void answer(byte @Nullable [] bytes) {
    int expectedBytes = ScriptReply.HEAD_BYTES;
    for (WaitingCheck check : batch) {
      expectedBytes += ScriptReply.bytesOf(check.buckets());
    }
    if (bytes == null || bytes.length != expectedBytes) {
      int length = bytes == null ? 0 : bytes.length;
      fail(
          ScriptReply.corrupt(
              "the reply must have " + expectedBytes + " bytes, but has " + length));
      return;
    }
    ScriptReply read = new ScriptReply(bytes);
    environment.coldSignal.seen(read.warm());
    environment.denyCache.seen(read.warm());
    // first sends the next call: the server processes the next call while this thread completes the
    // checks
    end();
    int offset = ScriptReply.HEAD_BYTES;
    for (WaitingCheck check : batch) {
      Decision decision = read.decode(offset, check.buckets());
      if (decision instanceof Decision.Denied denied) {
        noteDenial(check, denied);
      }
      if (!check.answer(decision)) {
        environment.statistics.repliesLate.increment();
      }
      offset += ScriptReply.bytesOf(check.buckets());
    }
  }

  private void noteDenial(WaitingCheck check, Decision.Denied denied) {
    // must run on this thread: on another thread, a message that was published later could be
    // processed first
    if (environment.denyCache.isOn()
        && environment.link.reader().inEventLoop()
        && connection == environment.link.subscribed()) {
      environment.denyCache.note(connection, check.check(), denied, check.askedNanos());
    }
  }

  /** Rejects the checks after their callers' timeouts. */
  void rejectOverdue(long nowNanos) {
    for (WaitingCheck check : batch) {
      boolean unused = check.lookIfOverdue(nowNanos);
    }
  }

  /** Ends the call without a reply. All checks receive the given decision. */
  void fail(Decision.Undecided undecided) {
    answerAll(undecided);
    end();
  }

  private void answerAll(Decision.Undecided undecided) {
    for (WaitingCheck check : batch) {
      boolean unused = check.answer(undecided);
    }
  }

  private void end() {
    if (ended.compareAndSet(false, true)) {
      environment.watch.ended(reply);
      environment.onEnd.accept(this);
    }
  }
}
