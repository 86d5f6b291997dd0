// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.topics.model.UsageRow;
import java.time.Duration;
import java.time.Instant;

/** Decides whether a row of the ledger is sent, kept or skipped. Stateless and thread-safe. */
final class RowJudge {
  /** Maximum age of an event: Stripe's 35 days, less the time that a request may take. */
  static final Duration MAX_AGE = Duration.ofDays(35).minusMinutes(5);

  private final Mapping mapping;
  private final Instant since;

  /**
   * Creates a judge.
   *
   * @param since rows of windows that start earlier are not sent
   */
  RowJudge(Mapping mapping, Instant since) {
    this.mapping = mapping;
    this.since = since;
  }

  sealed interface Verdict permits Send, Keep, Pass {}

  record Send(MeterEvent event) implements Verdict {}

  /** The row cannot be sent, and is kept for a person to decide. */
  record Keep(Reason reason, String detail) implements Verdict {}

  record Pass(Why why) implements Verdict {}

  enum Why {
    NOT_BILLED("of clients and meters that are not billed"),
    NO_QUANTITY("without a quantity"),
    EARLIER("of windows before --since"),
    REPEATED("that were exported before");

    private final String shown;

    Why(String shown) {
      this.shown = shown;
    }

    String shown() {
      return shown;
    }
  }

  enum Reason {
    UNMAPPED_CLIENT,
    UNMAPPED_METER,
    TOO_OLD,
    NEGATIVE,
    UNCERTAIN,
    REFUSED
  }

  Verdict judge(UsageRow row, Instant now) {
    String client = row.key().client();
    String meter = row.key().meter();
    if (row.window().startEpochMillis() < since.toEpochMilli()) {
      return new Pass(Why.EARLIER);
    }
    if (mapping.clientsNotBilled().contains(client) || mapping.metersNotBilled().contains(meter)) {
      return new Pass(Why.NOT_BILLED);
    }
    if (row.count().quantity() == 0) {
      return new Pass(Why.NO_QUANTITY);
    }
    String customer = mapping.customers().get(client);
    if (customer == null) {
      return new Keep(
          Reason.UNMAPPED_CLIENT, "the client '" + client + "' has no customer in the mapping");
    }
    String event = mapping.events().get(meter);
    if (event == null) {
      return new Keep(
          Reason.UNMAPPED_METER, "the meter '" + meter + "' has no event name in the mapping");
    }
    long quantity = row.count().quantity();
    if (quantity < 0 && !mapping.sendsNegative()) {
      return new Keep(
          Reason.NEGATIVE,
          "the quantity is " + quantity + "; credit it, or see negative: in the mapping");
    }
    long timestamp = seconds(row, now);
    Instant time = Instant.ofEpochSecond(timestamp);
    if (time.isBefore(now.minus(MAX_AGE))) {
      return new Keep(
          Reason.TOO_OLD,
          row.type() + " of " + time + ": Stripe accepts no event older than 35 days");
    }
    return new Send(new MeterEvent(event, row.recordId(), timestamp, customer, quantity));
  }

  /**
   * Returns the time of the usage. For a FINAL row, this is the start of the window, which selects
   * the billing period. For an adjustment, this is the time of the adjustment. If the invoice of
   * the window is already out, a later invoice then includes the adjustment.
   */
  private static long seconds(UsageRow row, Instant now) {
    long millis =
        row.type() == UsageRow.Type.FINAL
            ? row.window().startEpochMillis()
            : row.emittedAtEpochMillis();
    return Math.floorDiv(Math.min(millis, now.toEpochMilli()), 1_000L);
  }
}
