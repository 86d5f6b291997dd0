// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * A submitted check and the future of its decision. The caller encodes the check before it submits
 * the check. Thread-safe.
 *
 * <p>{@link ReplyWatch}, not the caller, determines whether the server replies, because the
 * caller's own thread may have waited for a processor. The caller's timeout ends a check only if no
 * other event has ended the check. The cause of such a timeout is this process, not the server.
 */
final class WaitingCheck {
  private final Check check;
  private final byte[][] keys;
  private final byte[] argument;
  private final boolean alone;
  private final long askedNanos;
  private final long callerDeadlineNanos;
  private final Consumer<Decision> count;
  private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.WAITING);
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();
  private boolean seenOverdue;

  /** The stages of a check. */
  private enum Stage {
    /** The check waits to be sent. */
    WAITING,
    /** The check was passed to the connection. From now on, the server may charge the check. */
    SENT,
    /** The caller has received the decision. */
    ANSWERED
  }

  /**
   * Creates a check that waits to be sent.
   *
   * @param argument the check in the encoding of {@link CheckEncoder}
   * @param alone whether the check must be sent in a separate call
   * @param askedNanos current time, by {@link NanoClock}
   * @param callerDeadlineNanos the caller's deadline, by {@link NanoClock}
   * @param count consumer that receives the decision before the caller
   */
  WaitingCheck(
      Check check,
      byte[] argument,
      boolean alone,
      long askedNanos,
      long callerDeadlineNanos,
      Consumer<Decision> count) {
    this.check = check;
    this.askedNanos = askedNanos;
    List<BucketRequest> buckets = check.buckets();
    List<byte[]> read = new ArrayList<>(buckets.size());
    for (BucketRequest request : buckets) {
      read.add(request.bucket().getBytes(StandardCharsets.UTF_8));
      for (String other : request.limit().otherBuckets(request.bucket())) {
        read.add(other.getBytes(StandardCharsets.UTF_8));
      }
    }
    this.keys = read.toArray(byte[][]::new);
    this.argument = argument;
    this.alone = alone;
    this.callerDeadlineNanos = callerDeadlineNanos;
    this.count = count;
  }

  Check check() {
    return check;
  }

  /** Returns the time at which the check was submitted, by {@link NanoClock}. */
  long askedNanos() {
    return askedNanos;
  }

  /**
   * Returns the keys that the script reads. After a bucket's key come the keys of the other buckets
   * on which the bucket's decision depends.
   */
  byte[][] keys() {
    return keys;
  }

  /** Returns the number of buckets. The number of bucket replies is the same. */
  int buckets() {
    return check.buckets().size();
  }

  byte[] argument() {
    return argument;
  }

  /**
   * Returns whether the check belongs to a batch request. Single checks have priority over checks
   * of batch requests.
   */
  boolean isInBatch() {
    return check.inBatch();
  }

  /** Returns whether the check must be sent in a separate call. */
  boolean isAlone() {
    return alone;
  }

  /** Returns the future of the decision. */
  CompletableFuture<Decision> decision() {
    return decision;
  }

  /** Marks the check as sent. Returns false if the check already has a decision. */
  boolean trySend() {
    return stage.compareAndSet(Stage.WAITING, Stage.SENT);
  }

  /** Completes the check with a decision. Returns false if the check already has a decision. */
  boolean answer(Decision known) {
    if (stage.getAndSet(Stage.ANSWERED) == Stage.ANSWERED) {
      return false;
    }
    complete(known);
    return true;
  }

  private void complete(Decision known) {
    count.accept(known);
    decision.complete(known);
  }

  /**
   * Rejects the check if the caller's deadline had already passed when this method was last called.
   * Only one thread may call this method.
   *
   * @return whether the deadline has passed, or the check has a decision
   */
  boolean lookIfOverdue(long nowNanos) {
    if (nowNanos - callerDeadlineNanos < 0) {
      return stage.get() == Stage.ANSWERED;
    }
    if (!seenOverdue) {
      seenOverdue = true;
    } else if (stage.compareAndSet(Stage.WAITING, Stage.ANSWERED)) {
      complete(
          rejected(
              "this process did not send the check to the server before the caller's timeout"));
    } else {
      boolean unused =
          answer(
              rejected("this process did not read the server's reply before the caller's timeout"));
    }
    return true;
  }

  private static Decision.Undecided rejected(String detail) {
    return new Decision.Undecided(Cause.REJECTED, detail);
  }
}
