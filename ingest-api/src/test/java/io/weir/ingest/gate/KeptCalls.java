// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.CallEvent;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A call log that keeps its calls in a list, by a hand-set clock. */
final class KeptCalls implements CallLog {
  final List<CallEvent> calls = new ArrayList<>();
  long nowEpochMillis = 1_800_000_000_000L;

  /** Why calls are refused from now on; null to keep them. */
  Recorded.@Nullable Refused refusal;

  private int underWay;

  @Override
  public long nowEpochMillis() {
    return nowEpochMillis;
  }

  @Override
  public Ticket begin() {
    return begunAt(nowEpochMillis);
  }

  private Ticket begunAt(long begun) {
    underWay++;
    return new Ticket() {
      @Override
      public long begunAtEpochMillis() {
        return begun;
      }

      @Override
      public Ticket again() {
        return begunAt(begun);
      }

      @Override
      public void abandon() {
        underWay--;
      }
    };
  }

  @Override
  public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> recorded) {
    Recorded.Refused refused = refusal;
    if (refused != null) {
      underWay--;
      return CompletableFuture.completedFuture(Collections.nCopies(recorded.size(), refused));
    }
    calls.addAll(recorded);
    underWay--;
    return CompletableFuture.completedFuture(
        recorded.stream().<Recorded>map(call -> new Recorded.Dropped()).toList());
  }

  /** Calls begun, and neither recorded nor abandoned. */
  int underWay() {
    return underWay;
  }

  CallEvent last() {
    return calls.get(calls.size() - 1);
  }

  @Override
  public Health check() {
    return new Health(true, "");
  }

  @Override
  public void close() {}
}
