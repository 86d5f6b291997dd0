// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.Placed;
import io.weir.ingest.settle.SettleOutcome.Settled;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.ingest.settle.SettleStatistics.Result;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.TokenBucketLimit;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is recorded, and what is answered, for each thing that may be found. */
final class SettlerTest {
  private static final CallQuery QUERY = new CallQuery("acme", "id", null);
  private static final UsagePosition CALL_AT = new UsagePosition(0, "n", 1, 5);
  private static final UsagePosition SETTLED_AT = new UsagePosition(0, "m", 1, 6);
  private static final UsagePosition KEPT_AT = new UsagePosition(0, "me", 1, 1);
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 1, 1_000_000);

  private final Log log = new Log();

  @Test
  void call_isSettled_atTheTicketsTime_withItsBucketsAndNoStamps() {
    Settled settled =
        assertInstanceOf(Settled.class, settle(new Found(placed(call(true)), null), 12));

    assertEquals(new Settled(call(true), 12, true, Durability.JOURNALED, KEPT_AT), settled);
    CallEvent line = log.lines.get(0);
    assertEquals(new Settlement(12, 777), line.settlement());
    assertEquals(List.of(new Charge("b", 8, LIMIT, null)), line.charges());
    assertEquals(call(true).decidedAtEpochMillis(), line.decidedAtEpochMillis());
  }

  @Test
  void costThatStandsAlready_isNotRecorded() {
    assertEquals(
        new Settled(call(true), 8, false, Durability.ACKED, CALL_AT),
        settle(new Found(placed(call(true)), null), 8));
    assertEquals(List.of(), log.lines);
  }

  @Test
  void repeatedSettlement_isAnsweredWithTheFirstOne() {
    Settled again = assertInstanceOf(Settled.class, settle(settledAt(12), 12));

    assertEquals(12, again.actualCost());
    assertEquals(SETTLED_AT, again.position());
    assertTrue(!again.changed() && log.lines.isEmpty());
  }

  @Test
  void otherCostThanSettledBefore_isAConflict_evenTheCallsOwn() {
    assertEquals(new SettleOutcome.SettledBefore(12), settle(settledAt(12), 3));
    assertEquals(new SettleOutcome.SettledBefore(12), settle(settledAt(12), 8));
    assertEquals(List.of(), log.lines);
  }

  @Test
  void deniedCall_cannotBeSettled() {
    assertEquals(new SettleOutcome.Denied(), settle(new Found(placed(call(false)), null), 12));
    assertEquals(List.of(), log.lines);
  }

  @Test
  void whatWasNotFound_isNotGuessed() {
    assertEquals(new SettleOutcome.NotFound(1, 2), settle(new CallFinder.NotFound(1, 2), 12));
    assertEquals(new Unavailable("busy"), settle(new CallFinder.Unknown("busy"), 12));
    assertEquals(List.of(), log.lines);
  }

  @Test
  void logThatCannotKeepIt_isUnavailable_droppingToo() {
    Found found = new Found(placed(call(true)), null);
    log.answer = new Recorded.Refused(Recorded.Reason.CLOSING, "stopping");
    assertInstanceOf(Unavailable.class, settle(found, 12));
    log.answer = new Recorded.Dropped();
    assertInstanceOf(Unavailable.class, settle(found, 12));
  }

  @Test
  void outcomes_areCounted() {
    Settler settler = new Settler(finder(new Found(placed(call(true)), null)), log);
    settler.settle(QUERY, 12);
    settler.settle(QUERY, 8);
    settler.settle(QUERY, 3);

    assertEquals(2, settler.statistics().count(Result.SETTLED));
    assertEquals(1, settler.statistics().count(Result.UNCHANGED));
    assertEquals(0, settler.statistics().count(Result.CONFLICT));
  }

  private SettleOutcome settle(Finding finding, long actualCost) {
    return new Settler(finder(finding), log).settle(QUERY, actualCost);
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

  private static Placed placed(CallEvent line) {
    return new Placed(line, CALL_AT);
  }

  private static Found settledAt(long actualCost) {
    CallEvent settlement = call(true).settledAt(new Settlement(actualCost, 9));
    return new Found(placed(call(true)), new Placed(settlement, SETTLED_AT));
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

  /** Keeps lines in a list, and answers what it is told to. */
  private static final class Log implements CallLog {
    final List<CallEvent> lines = new ArrayList<>();
    Recorded answer = new Recorded.Durable(Durability.JOURNALED, KEPT_AT);

    @Override
    public Ticket begin() {
      return new Ticket() {
        @Override
        public long begunAtEpochMillis() {
          return 777;
        }

        @Override
        public void abandon() {}
      };
    }

    @Override
    public List<Recorded> record(Ticket ticket, List<CallEvent> calls) {
      lines.addAll(calls);
      return List.of(answer);
    }

    @Override
    public Health check() {
      return new Health(true, "");
    }

    @Override
    public void close() {}
  }
}
