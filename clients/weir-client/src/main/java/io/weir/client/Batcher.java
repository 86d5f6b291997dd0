// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Combines checks that arrive within a short time into one request. Thread-safe.
 *
 * <p>A batch is sent when it is full, or when its first check has waited for the linger time. Each
 * check receives its own outcome. If the request fails, all its checks fail for the same reason.
 */
final class Batcher {
  /** Maximum size of a batch in bytes. A node accepts batches up to 1 MiB. */
  private static final int MAX_BYTES = 1_000_000;

  private final Transport transport;
  private final ScheduledExecutorService timer;
  private final Duration linger;
  private final int maxChecks;
  private List<Waiting> waiting = new ArrayList<>();
  private int waitingBytes;

  /**
   * Creates an empty batcher.
   *
   * @param linger time that the first check of a batch waits for other checks, greater than zero
   * @param maxChecks maximum number of checks in a batch, 1 to 1,000
   */
  Batcher(Transport transport, ScheduledExecutorService timer, Duration linger, int maxChecks) {
    this.transport = transport;
    this.timer = timer;
    this.linger = linger;
    this.maxChecks = maxChecks;
  }

  private static final class Waiting {
    private final String id;
    private final byte[] json;
    private final long deadlineNanos;
    private final CompletableFuture<TryOutcome<Decision>> outcome = new CompletableFuture<>();

    Waiting(String id, byte[] json, Duration timeout) {
      this.id = id;
      this.json = json;
      this.deadlineNanos = System.nanoTime() + timeout.toNanos();
    }
  }

  /**
   * Adds a check to the next batch.
   *
   * @param json the body of the check
   * @param timeout maximum time to wait for the response
   */
  CompletableFuture<TryOutcome<Decision>> add(String id, byte[] json, Duration timeout) {
    Waiting added = new Waiting(id, json, timeout);
    List<Waiting> before = List.of();
    List<Waiting> full = List.of();
    synchronized (this) {
      if (waitingBytes + json.length + 1 > MAX_BYTES) {
        before = takeWaiting();
      }
      if (waiting.isEmpty()) {
        List<Waiting> begun = waiting;
        var unused = timer.schedule(() -> flush(begun), linger.toNanos(), TimeUnit.NANOSECONDS);
      }
      waiting.add(added);
      waitingBytes += json.length + 1;
      if (waiting.size() >= maxChecks) {
        full = takeWaiting();
      }
    }
    send(before);
    send(full);
    return added.outcome;
  }

  /** Sends the waiting checks now. */
  void flush() {
    List<Waiting> taken;
    synchronized (this) {
      taken = takeWaiting();
    }
    send(taken);
  }

  /** Sends a batch. Does nothing if the batch was full and was sent before. */
  private void flush(List<Waiting> begun) {
    synchronized (this) {
      if (waiting != begun) {
        return;
      }
      waiting = new ArrayList<>();
      waitingBytes = 0;
    }
    send(begun);
  }

  private List<Waiting> takeWaiting() {
    List<Waiting> taken = waiting;
    waiting = new ArrayList<>();
    waitingBytes = 0;
    return taken;
  }

  private void send(List<Waiting> batch) {
    if (batch.isEmpty()) {
      return;
    }
    Duration timeout = latest(batch);
    if (batch.size() == 1) {
      // sent as a single check, because the response to a batch lacks some header fields
      Waiting only = batch.get(0);
      var unused =
          transport
              .post(
                  Transport.CHECK,
                  Map.of(),
                  only.json,
                  timeout,
                  answer -> AnswerReader.check(answer, only.id))
              .whenComplete((outcome, thrown) -> complete(only, outcome, thrown));
      return;
    }
    List<String> ids = batch.stream().map(check -> check.id).toList();
    var unused =
        transport
            .post(
                Transport.BATCH,
                Map.of(),
                array(batch),
                timeout,
                answer -> AnswerReader.batch(answer, ids))
            .whenComplete(
                (outcome, thrown) -> {
                  for (int i = 0; i < batch.size(); i++) {
                    complete(batch.get(i), thrown == null ? of(outcome, i) : null, thrown);
                  }
                });
  }

  private static TryOutcome<Decision> of(
      TryOutcome<List<TryOutcome<Decision>>> outcome, int index) {
    if (outcome instanceof TryOutcome.Answered<List<TryOutcome<Decision>>> answered) {
      return answered.value().get(index);
    }
    if (outcome instanceof TryOutcome.Wrong<List<TryOutcome<Decision>>> wrong) {
      return new TryOutcome.Wrong<>(wrong.exception());
    }
    TryOutcome.Failed<List<TryOutcome<Decision>>> failed =
        (TryOutcome.Failed<List<TryOutcome<Decision>>>) outcome;
    return new TryOutcome.Failed<>(failed.cause(), failed.detail());
  }

  private static void complete(
      Waiting check, @Nullable TryOutcome<Decision> outcome, @Nullable Throwable thrown) {
    if (outcome != null) {
      check.outcome.complete(outcome);
    } else {
      check.outcome.completeExceptionally(
          thrown != null
              ? thrown
              : new IllegalStateException("a request must have an outcome, but has none"));
    }
  }

  private static Duration latest(List<Waiting> batch) {
    long now = System.nanoTime();
    long mostNanos = 1;
    for (Waiting check : batch) {
      mostNanos = Math.max(mostNanos, check.deadlineNanos - now);
    }
    return Duration.ofNanos(mostNanos);
  }

  private static byte[] array(List<Waiting> batch) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    char before = '[';
    for (Waiting check : batch) {
      bytes.write(before);
      bytes.writeBytes(check.json);
      before = ',';
    }
    bytes.write(']');
    return bytes.toByteArray();
  }
}
