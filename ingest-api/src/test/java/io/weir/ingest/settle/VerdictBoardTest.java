// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.testing.Await;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

  @Test
  void onVerdict_verdictBeforeOrAfterwards_isPassedOnOnce() {
    List<SettlementVerdict> told = new ArrayList<>();
    board.publish(verdict(1));
    board.onVerdict(at(1), told::add);
    assertEquals(List.of(verdict(1)), told);

    board.onVerdict(at(2), told::add);
    board.publish(verdict(3));
    assertEquals(List.of(verdict(1)), told);
    board.publish(verdict(2));
    board.publish(verdict(2));
    assertEquals(List.of(verdict(1), verdict(2)), told);
  }

  /** Verdicts that are passed on take no room of those that threads wait for. */
  @Test
  void onVerdict_forVeryMany_passesOnTheNewestTenThousand_andLeavesWaitersAlone() {
    List<SettlementVerdict> told = new ArrayList<>();
    var waiting = CompletableFuture.supplyAsync(() -> board.await(at(20_000), Await.TIMEOUT));
    for (long line = 1; line <= 10_001; line++) {
      board.onVerdict(at(line), told::add);
    }
    for (long line = 2; line <= 10_001; line++) {
      board.publish(verdict(line));
    }
    board.publish(verdict(20_000));

    assertEquals(10_000, told.size());
    assertEquals(verdict(20_000), waiting.join());
  }

  private static UsagePosition at(long line) {
    return new UsagePosition(0, "n", 1, line);
  }

  private static SettlementVerdict verdict(long line) {
    return new SettlementVerdict(at(line), "acme", "id", Outcome.REFUSED, null, "no");
  }
}
