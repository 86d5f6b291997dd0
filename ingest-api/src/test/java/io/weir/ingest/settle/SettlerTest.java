// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.SettleOutcome.Settled;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.ingest.settle.Settler.Result;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The record and the answer for each result of the search for the call. */
final class SettlerTest {
  private static final CallQuery QUERY = new CallQuery("acme", "id", null);
  private static final UsagePosition CALL_AT = new UsagePosition(0, "n", 1, 5);
  private static final UsagePosition SETTLED_AT = new UsagePosition(0, "m", 1, 6);
  private static final UsagePosition KEPT_AT = new UsagePosition(0, "me", 1, 1);
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 1, 1_000_000);

  private static final Found FOUND = new Found(call(true), CALL_AT);

  private final Log log = new Log();
  private @Nullable SettlementVerdict judge;

  @Test
  void settle_foundCall_recordsItsPositionAndBucketsWithoutStamps() {
    judge = stands(12);
    Settled settled = assertInstanceOf(Settled.class, settle(FOUND, 12));

    assertEquals(new Settled(call(true), 12, true, Durability.ACKED, KEPT_AT), settled);
    CallEvent line = log.lines.get(0);
    assertEquals(new CallSettlement(12, 777, CALL_AT), line.settlement());
    assertEquals(List.of(new Charge("b", 8, LIMIT, null)), line.charges());
    assertEquals(call(true).decidedAtEpochMillis(), line.decidedAtEpochMillis());
  }

  @Test
  void unchangedCost_isRecorded_andChangesNothing() {
    judge = stands(8);
    assertEquals(new Settled(call(true), 8, false, Durability.ACKED, KEPT_AT), settle(FOUND, 8));
    assertEquals(1, log.lines.size());
  }

  @Test
  void repeatedSettlement_isAnsweredWithTheFirstOne() {
    judge = before(new Standing(12, SETTLED_AT));
    assertEquals(
        new Settled(call(true), 12, false, Durability.ACKED, SETTLED_AT), settle(FOUND, 12));
  }

  @Test
  void costOtherThanSettledBefore_isAConflict_evenTheCallsOriginalCost() {
    judge = before(new Standing(12, SETTLED_AT));
    assertEquals(new SettleOutcome.SettledBefore(12L), settle(FOUND, 3));
    assertEquals(new SettleOutcome.SettledBefore(12L), settle(FOUND, 8));
    judge = before(null);
    assertEquals(new SettleOutcome.SettledBefore(null), settle(FOUND, 3));
  }

  @Test
  void callThatWasNotBilled_isRefused_withTheReason() {
    judge = verdict(Outcome.REFUSED, null, "not counted");
    assertEquals(new SettleOutcome.Refused("not counted"), settle(FOUND, 0));
  }

  @Test
  void verdictThatDoesNotCome_leavesTheSettlementPending() {
    assertEquals(
        new SettleOutcome.Pending(call(true), 12, Durability.JOURNALED, KEPT_AT),
        settle(FOUND, 12));
  }

  @Test
  void deniedCall_cannotBeSettled() {
    assertEquals(new SettleOutcome.Denied(), settle(new Found(call(false), CALL_AT), 12));
    assertEquals(List.of(), log.lines);
  }

  @Test
  void callNotFound_isNotSettled_andTheReasonIsPassedOn() {
    for (SettleOutcome.WithoutCall each :
        List.of(
            new SettleOutcome.NotFound(1, 2),
            new SettleOutcome.OnlyDeniedTry(1, 2),
            new Unavailable("busy"),
            new SettleOutcome.Exhausted(7))) {
      assertEquals(each, settle(each, 12));
    }
    assertEquals(List.of(), log.lines);
  }

  @Test
  void callLogRefusesOrDrops_isUnavailable() {
    log.answer = new Recorded.Refused(Recorded.Reason.CLOSING, "stopping");
    assertInstanceOf(Unavailable.class, settle(FOUND, 12));
    log.answer = new Recorded.Dropped();
    assertInstanceOf(Unavailable.class, settle(FOUND, 12));
  }

  @Test
  void outcomes_areCounted() {
    Settler settler =
        new Settler(finder(FOUND), log, settlement -> judge, new SimpleMeterRegistry());
    settler.settle(QUERY, 12);
    judge = stands(12);
    settler.settle(QUERY, 12);
    judge = before(new Standing(12, SETTLED_AT));
    settler.settle(QUERY, 12);
    settler.settle(QUERY, 3);

    assertEquals(1, settler.counter(Result.PENDING).count());
    assertEquals(1, settler.counter(Result.SETTLED).count());
    assertEquals(1, settler.counter(Result.UNCHANGED).count());
    assertEquals(1, settler.counter(Result.CONFLICT).count());
  }

  private SettleOutcome settle(Finding finding, long actualCost) {
    return new Settler(finder(finding), log, settlement -> judge, new SimpleMeterRegistry())
        .settle(QUERY, actualCost);
  }

  private static SettlementVerdict stands(long actualCost) {
    return verdict(Outcome.STANDS, new Standing(actualCost, KEPT_AT), null);
  }

  private static SettlementVerdict before(@Nullable Standing standing) {
    return verdict(Outcome.SETTLED_BEFORE, standing, null);
  }

  private static SettlementVerdict verdict(
      Outcome outcome, @Nullable Standing standing, @Nullable String reason) {
    return new SettlementVerdict(KEPT_AT, "acme", "id", outcome, standing, reason);
  }

  private static CallFinder finder(Finding finding) {
    return new CallFinder() {
      @Override
      public Finding find(CallQuery query) {
        return finding;
      }

      @Override
      public void close() {}
    };
  }

  private static CallEvent call(boolean allowed) {
    return new CallEvent(
        "id",
        false,
        "acme",
        "-",
        "calls",
        8,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        5,
        null,
        List.of(new Charge("b", 8, LIMIT, new Stamp(1, 0, 8, 9))));
  }

  /** Keeps lines in a list, and returns configured results. */
  private static final class Log implements CallLog {
    final List<CallEvent> lines = new ArrayList<>();
    Recorded answer = new Recorded.Durable(Durability.JOURNALED, KEPT_AT);

    @Override
    public long nowEpochMillis() {
      return 777;
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
          return 777;
        }

        @Override
        public void abandon() {}
      };
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> calls) {
      lines.addAll(calls);
      return CompletableFuture.completedFuture(List.of(answer));
    }

    @Override
    public Health check() {
      return new Health(true, "");
    }

    @Override
    public void close() {}
  }
}
