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
 * A check and the thread that waits for its answer. The caller packs the check before it waits and
 * reads the answer after it woke, so that the threads everyone shares only hand bytes on.
 *
 * <p>Whether the server answers is not for the caller to judge, who may have been kept from a
 * processor: {@link ReplyWatch} does. The caller's own patience only ends what nobody else has
 * ended, and then the check was this process' failure, not the server's.
 */
final class WaitingCheck implements PendingDecision {
  private final byte[][] keys;
  private final byte[] argument;
  private final long patienceEndNanos;
  private final Thread caller;
  private final AtomicReference<State> state = new AtomicReference<>(Stage.WAITING);

  /** How far a check has come. */
  private sealed interface State {}

  /** The steps without an answer. */
  private enum Stage implements State {
    /** It waits to be sent. */
    WAITING,
    /** It has been given to the connection; from now on it may be charged. */
    SENT,
    /** The caller has its answer, or has gone without one. */
    LEFT
  }

  /** The script's reply, and where this check's part begins. */
  private record Reply(ScriptReply reply, int offset) implements State {}

  /** No reply. */
  private record Failure(Decision.Undecided undecided) implements State {}

  /**
   * A check of the current thread.
   *
   * @param argument the check as {@link CheckEncoder} packs it
   * @param patienceEndNanos until when the caller waits, by {@link NanoClock}
   */
  WaitingCheck(Check check, byte[] argument, long patienceEndNanos) {
    List<BucketRequest> buckets = check.buckets();
    this.keys = new byte[buckets.size()][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = buckets.get(i).bucket().getBytes(StandardCharsets.UTF_8);
    }
    this.argument = argument;
    this.patienceEndNanos = patienceEndNanos;
    this.caller = Thread.currentThread();
  }

  byte[][] keys() {
    return keys;
  }

  byte[] argument() {
    return argument;
  }

  /** Takes the check for sending; false when nobody waits for it any more. */
  boolean trySend() {
    return state.compareAndSet(Stage.WAITING, Stage.SENT);
  }

  /**
   * Gives the caller the reply, also in the place of a failure that it has not read yet; false when
   * the caller has gone.
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

  /** Tells the caller that there is no reply, unless there is one or the caller has gone. */
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
      // a parked thread that is interrupted does not park again until the flag is cleared
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
