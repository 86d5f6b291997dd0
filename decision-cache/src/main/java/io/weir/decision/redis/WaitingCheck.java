// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.DecisionCache.PendingDecision;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * A check and the thread that waits for its answer. The caller encodes the check before it waits
 * and decodes the answer after it woke, so that the shared threads only pass bytes on.
 *
 * <p>The caller does not judge whether the server answers, since it may itself have been without a
 * processor: {@link ReplyWatch} does. The caller's own patience only ends a check that nothing else
 * has ended; then the failure was this process's, not the server's.
 */
final class WaitingCheck implements PendingDecision {
  private final Check check;
  private final byte[][] keys;
  private final byte[] argument;
  private final long askedNanos;
  private final long patienceEndNanos;
  private final Thread caller;
  private final AtomicReference<State> state = new AtomicReference<>(Stage.WAITING);

  /** The state of a check. */
  private sealed interface State {}

  /** The states without an answer. */
  private enum Stage implements State {
    /** The check waits to be sent. */
    WAITING,
    /** The check has been passed to the connection; from now on it may be charged. */
    SENT,
    /** The caller has its answer, or has given up. */
    LEFT
  }

  /** The script's reply, and the offset of this check's part. */
  private record Reply(ScriptReply reply, int offset) implements State {}

  /** There is no reply. */
  private record Failure(Decision.Undecided undecided) implements State {}

  /**
   * Creates a check of the current thread.
   *
   * @param argument the check as encoded by {@link CheckEncoder}
   * @param askedNanos now, by {@link NanoClock}
   * @param patienceEndNanos until when the caller waits, by {@link NanoClock}
   */
  WaitingCheck(Check check, byte[] argument, long askedNanos, long patienceEndNanos) {
    this.check = check;
    this.askedNanos = askedNanos;
    List<BucketRequest> buckets = check.buckets();
    this.keys = new byte[buckets.size()][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = buckets.get(i).bucket().getBytes(StandardCharsets.UTF_8);
    }
    this.argument = argument;
    this.patienceEndNanos = patienceEndNanos;
    this.caller = Thread.currentThread();
  }

  Check check() {
    return check;
  }

  /** Returns when the check was submitted, by {@link NanoClock}. */
  long askedNanos() {
    return askedNanos;
  }

  byte[][] keys() {
    return keys;
  }

  byte[] argument() {
    return argument;
  }

  /** Marks the check as sent. Returns false if nobody waits for it any more. */
  boolean trySend() {
    return state.compareAndSet(Stage.WAITING, Stage.SENT);
  }

  /**
   * Passes the reply to the caller; replaces a failure that the caller has not read yet. Returns
   * false if the caller has given up.
   */
  boolean tryAnswer(ScriptReply reply, int offset) {
    Reply answer = new Reply(reply, offset);
    State before = state.get();
    while (before != Stage.LEFT && !state.compareAndSet(before, answer)) {
      before = state.get();
    }
    LockSupport.unpark(caller);
    return before != Stage.LEFT;
  }

  /** Tells the caller that there is no reply, unless there is one or the caller has given up. */
  void fail(Decision.Undecided undecided) {
    Failure failure = new Failure(undecided);
    if (state.compareAndSet(Stage.WAITING, failure) || state.compareAndSet(Stage.SENT, failure)) {
      LockSupport.unpark(caller);
    }
  }

  @Override
  public Decision await() {
    boolean interrupted = false;
    while (state.get() instanceof Stage) {
      long leftNanos = patienceEndNanos - NanoClock.now();
      if (leftNanos <= 0) {
        break;
      }
      LockSupport.parkNanos(this, leftNanos);
      // an interrupted thread does not park again until the flag is cleared
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    State come = state.getAndSet(Stage.LEFT);
    if (come instanceof Reply found) {
      return found.reply.decode(found.offset, keys.length);
    }
    if (come instanceof Failure failure) {
      return failure.undecided;
    }
    return new Decision.Undecided(
        Cause.REJECTED,
        come == Stage.WAITING
            ? "this process did not come to ask the server in time"
            : "this process did not come to read the server's answer in time");
  }
}
