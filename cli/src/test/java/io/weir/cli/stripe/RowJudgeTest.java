// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.stripe.RowJudge.Reason;
import io.weir.cli.stripe.RowJudge.Why;
import io.weir.topics.model.UsageRow;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class RowJudgeTest {
  private static final Instant NOW = Instant.parse("2026-11-26T12:00:00Z");
  private static final Instant START = Instant.parse("2026-11-26T11:30:00Z");

  private static RowJudge judge(boolean sendsNegative) {
    return new RowJudge(
        new Mapping(
            Map.of("acme", "cus_1"),
            Map.of("calls", "api"),
            Set.of("own"),
            Set.of(),
            sendsNegative),
        Instant.parse("2026-09-01T00:00:00Z"));
  }

  private static RowJudge.Verdict verdict(UsageRow row) {
    return judge(false).judge(row, NOW);
  }

  private static void assertKept(Reason reason, UsageRow row) {
    assertEquals(reason, assertInstanceOf(RowJudge.Keep.class, verdict(row)).reason());
  }

  private static void assertPassed(Why why, UsageRow row) {
    assertEquals(new RowJudge.Pass(why), verdict(row));
  }

  @Test
  void finalRow_isAnEventAtTheStartOfItsWindow() {
    UsageRow row = LedgerOfCalls.row("acme", "GET /a", START, 7);

    assertEquals(
        new RowJudge.Send(
            new MeterEvent("api", row.recordId(), START.getEpochSecond(), "cus_1", 7)),
        verdict(row));
  }

  /** Else it would be of a period whose invoice is out. */
  @Test
  void adjustment_isAnEventOfWhenItWasMade_andNotOfTheFuture() {
    Instant made = NOW.minusSeconds(40);
    UsageRow row = LedgerOfCalls.row("acme", "-", START.minus(Duration.ofDays(34)), 7, 2, made);
    assertEquals(made.getEpochSecond(), timestamp(row));

    UsageRow ahead = LedgerOfCalls.row("acme", "-", START, 7, 2, NOW.plusSeconds(600));
    assertEquals(NOW.getEpochSecond(), timestamp(ahead));
  }

  private static long timestamp(UsageRow row) {
    return assertInstanceOf(RowJudge.Send.class, verdict(row)).event().timestampEpochSeconds();
  }

  @Test
  void rowThatCannotBeSent_isKept() {
    assertKept(Reason.UNMAPPED_CLIENT, LedgerOfCalls.row("hooli", "-", START, 7));
    assertKept(Reason.NEGATIVE, LedgerOfCalls.row("acme", "-", START, -7, 2, NOW));
    Instant edge = NOW.minus(RowJudge.MAX_AGE);
    assertKept(Reason.TOO_OLD, LedgerOfCalls.row("acme", "-", edge.minusSeconds(1), 7));
    assertInstanceOf(
        RowJudge.Send.class, verdict(LedgerOfCalls.row("acme", "-", edge, 7)), "the last moment");
  }

  @Test
  void rowWithoutAnythingToBill_isPassedOver() {
    assertPassed(Why.NO_QUANTITY, LedgerOfCalls.row("acme", "-", START, 0));
    assertPassed(Why.NOT_BILLED, LedgerOfCalls.row("own", "-", START, 7));
    Instant before = Instant.parse("2026-08-31T23:45:00Z");
    assertPassed(Why.EARLIER, LedgerOfCalls.row("acme", "-", before, 7, 2, NOW));
  }

  @Test
  void negativeRow_isSent_whenTheMappingSaysSo() {
    RowJudge.Verdict verdict =
        judge(true).judge(LedgerOfCalls.row("acme", "-", START, -7, 2, NOW), NOW);

    MeterEvent event = assertInstanceOf(RowJudge.Send.class, verdict).event();
    assertTrue(event.form().endsWith("&payload%5Bvalue%5D=-7"), event::form);
  }
}
