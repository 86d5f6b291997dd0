// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.BucketRequest;
import io.weir.decision.Check;
import io.weir.decision.Decision;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A check and the thread that waits for its answer. The caller packs the check before it waits and
 * reads the answer after it woke, so that the threads everyone shares only hand bytes on.
 */
final class WaitingCheck {
  private final byte[][] keys;
  private final byte[] argument;
  private final long deadlineNanos;
  private final Thread caller;
  private volatile @Nullable Answer answer;
  private volatile boolean abandoned;

  /** What came back for a check. */
  private sealed interface Answer {
    /** The script's reply, and where this check's part begins. */
    record Reply(ScriptReply reply, int offset) implements Answer {}

    /** No reply. */
    record Failure(Decision.Undecided undecided) implements Answer {}
  }

  /**
   * A check of the current thread.
   *
   * @param argument the check as {@link CheckEncoder} packs it
   * @param deadlineNanos until when the caller waits, by {@link NanoClock}
   */
  WaitingCheck(Check check, byte[] argument, long deadlineNanos) {
    List<BucketRequest> buckets = check.buckets();
    this.keys = new byte[buckets.size()][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = buckets.get(i).bucket().getBytes(StandardCharsets.UTF_8);
    }
    this.argument = argument;
    this.deadlineNanos = deadlineNanos;
    this.caller = Thread.currentThread();
  }

  byte[][] keys() {
    return keys;
  }

  byte[] argument() {
    return argument;
  }

  boolean isExpired(long nowNanos) {
    return deadlineNanos - nowNanos <= 0;
  }

  /** True when the caller has gone; an answer would reach nobody. */
  boolean isAbandoned() {
    return abandoned;
  }

  void answer(ScriptReply reply, int offset) {
    answer = new Answer.Reply(reply, offset);
    LockSupport.unpark(caller);
  }

  void fail(Decision.Undecided undecided) {
    answer = new Answer.Failure(undecided);
    LockSupport.unpark(caller);
  }

  /** Waits for the answer or the deadline; to be called by the caller alone. */
  @Nullable Decision await() {
    boolean interrupted = false;
    Answer come = answer;
    while (come == null) {
      long leftNanos = deadlineNanos - NanoClock.now();
      if (leftNanos <= 0) {
        abandoned = true;
        break;
      }
      LockSupport.parkNanos(this, leftNanos);
      // a parked thread that is interrupted does not park again until the flag is cleared
      interrupted |= Thread.interrupted();
      come = answer;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (come instanceof Answer.Reply found) {
      return found.reply.decode(found.offset, keys.length);
    }
    return come instanceof Answer.Failure failure ? failure.undecided : null;
  }
}
