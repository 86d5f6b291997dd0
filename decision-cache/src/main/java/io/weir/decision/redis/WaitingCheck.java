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
 * A check and its decision, once there is one. The caller encodes the check before it submits it.
 * Thread-safe.
 *
 * <p>The caller does not judge whether the server answers, since it may itself have been without a
 * processor: {@link ReplyWatch} does. The caller's patience only ends a check that nothing else has
 * ended; then the failure was this process's, not the server's.
 */
final class WaitingCheck {
  private final Check check;
  private final byte[][] keys;
  private final byte[] argument;
  private final boolean alone;
  private final long askedNanos;
  private final long patienceEndNanos;
  private final Consumer<Decision> count;
  private final AtomicReference<Stage> stage = new AtomicReference<>(Stage.WAITING);
  private final CompletableFuture<Decision> decision = new CompletableFuture<>();
  private boolean seenOverdue;

  /** The stages of a check. */
  private enum Stage {
    /** The check waits to be sent. */
    WAITING,
    /** The check has been passed to the connection; from now on it may be charged. */
    SENT,
    /** The caller has its answer. */
    ANSWERED
  }

  /**
   * Creates a check that waits to be sent.
   *
   * @param argument the check as encoded by {@link CheckEncoder}
   * @param alone whether the check must be sent in a call of its own
   * @param askedNanos now, by {@link NanoClock}
   * @param patienceEndNanos until when the caller waits, by {@link NanoClock}
   * @param count receives the decision before the caller does
   */
  WaitingCheck(
      Check check,
      byte[] argument,
      boolean alone,
      long askedNanos,
      long patienceEndNanos,
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
    this.patienceEndNanos = patienceEndNanos;
    this.count = count;
  }

  Check check() {
    return check;
  }

  /** Returns when the check was submitted, by {@link NanoClock}. */
  long askedNanos() {
    return askedNanos;
  }

  /** Returns the keys that are read: each bucket's, then those of the others that it depends on. */
  byte[][] keys() {
    return keys;
  }

  /** Returns the number of buckets, each of which is replied to. */
  int buckets() {
    return check.buckets().size();
  }

  byte[] argument() {
    return argument;
  }

  /** Returns whether the check is one of many of one request, which single checks precede. */
  boolean isInBatch() {
    return check.inBatch();
  }

  /** Returns whether the check must be sent in a call of its own. */
  boolean isAlone() {
    return alone;
  }

  /** Returns the decision, which is completed once. */
  CompletableFuture<Decision> decision() {
    return decision;
  }

  /** Marks the check as sent. Returns false if nobody waits for it any more. */
  boolean trySend() {
    return stage.compareAndSet(Stage.WAITING, Stage.SENT);
  }

  /** Passes the decision to the caller. Returns false if the caller has an answer already. */
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
   * Rejects the check if the caller's patience had ended at the look before, too. Called by one
   * thread.
   *
   * @return whether it has ended, or the check has an answer
   */
  boolean lookIfOverdue(long nowNanos) {
    if (nowNanos - patienceEndNanos < 0) {
      return stage.get() == Stage.ANSWERED;
    }
    if (!seenOverdue) {
      seenOverdue = true;
    } else if (stage.compareAndSet(Stage.WAITING, Stage.ANSWERED)) {
      complete(rejected("this process did not come to ask the server in time"));
    } else {
      boolean unused =
          answer(rejected("this process did not come to read the server's answer in time"));
    }
    return true;
  }

  private static Decision.Undecided rejected(String detail) {
    return new Decision.Undecided(Cause.REJECTED, detail);
  }
}
