// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.testing.Await;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Verdicts reach their requesters, whichever comes first. */
final class VerdictBoardTest {
  private final VerdictBoard board = new VerdictBoard(1);

  @Test
  void await_verdictBeforeOrAfterTheWaitBegins_isReturned() {
    board.publish(verdict(1));
    assertEquals(verdict(1), board.await(at(1), Duration.ZERO));

    var waiting = CompletableFuture.supplyAsync(() -> board.await(at(2), Await.TIMEOUT));
    board.publish(verdict(3));
    board.publish(verdict(2));
    assertEquals(verdict(2), waiting.join());
  }

  @Test
  void await_noVerdict_returnsNullAfterTheTimeout() {
    assertNull(board.await(at(1), Duration.ZERO));
  }

  @Test
  void await_tooManyWaiters_isRefused_andThePlaceIsFreedAfterwards() {
    VerdictBoard none = new VerdictBoard(0);
    none.publish(verdict(1));
    assertNull(none.await(at(1), Await.TIMEOUT));

    assertNull(board.await(at(1), Duration.ZERO));
    board.publish(verdict(2));
    assertEquals(verdict(2), board.await(at(2), Duration.ZERO));
  }

  private static UsagePosition at(long line) {
    return new UsagePosition(0, "n", 1, line);
  }

  private static SettlementVerdict verdict(long line) {
    return new SettlementVerdict(at(line), "acme", "id", Outcome.REFUSED, null, "no");
  }
}
