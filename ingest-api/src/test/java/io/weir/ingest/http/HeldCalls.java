// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.topics.model.CallEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A call log that holds every call until it is let go, and counts them. Safe for threads. */
final class HeldCalls implements CallLog {
  private final AtomicInteger recorded = new AtomicInteger();
  private final AtomicInteger held = new AtomicInteger();
  private volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);

  void hold() {
    gate = new CompletableFuture<>();
  }

  void letGo() {
    gate.complete(null);
  }

  /** Calls that are held here now. */
  int held() {
    return held.get();
  }

  int recorded() {
    return recorded.get();
  }

  @Override
  public long nowEpochMillis() {
    return 1;
  }

  @Override
  public Ticket begin() {
    return new Ticket() {
      @Override
      public Ticket again() {
        return this;
      }

      @Override
      public long begunAtEpochMillis() {
        return 1;
      }

      @Override
      public void abandon() {}
    };
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
    held.incrementAndGet();
    return gate.thenApply(
        letGo -> {
          held.decrementAndGet();
          recorded.addAndGet(calls.size());
          return calls.stream().<Recorded>map(call -> new Recorded.Dropped()).toList();
        });
  }

  @Override
  public Health check() {
    return new Health(true, "");
  }

  @Override
  public void close() {}
}
