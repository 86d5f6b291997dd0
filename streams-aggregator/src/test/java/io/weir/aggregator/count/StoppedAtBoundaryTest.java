// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketKey;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.ClientCalendar;
import io.weir.limits.PeriodicLimit.Span;
import io.weir.limits.QuotaLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A day, a month or a year begins while the aggregator or an ingest node is stopped. Rows, billing
 * periods and corrections of quotas are the same as without the stop.
 */
final class StoppedAtBoundaryTest {
  private static final Duration WINDOW = Duration.ofMinutes(15);
  private static final Duration HOLD = Duration.ofHours(1);
  private static final CountSettings SETTINGS =
      new CountSettings(WINDOW.toMillis(), 60_000, HOLD.toMillis(), Duration.ofDays(35).toMillis());

  private static final int CALLS_BEFORE = 6;
  private static final int CALLS_AFTER = 9;

  /** One partition with the nodes {@code a} and {@code b}. */
  private static final class Partition {
    final Memory memory = new Memory(SETTINGS);
    private final Map<String, Long> lines = new HashMap<>();
    private final Map<String, Long> charged = new HashMap<>();
    private final boolean isRunning;

    Partition(boolean isRunning) {
      this.isRunning = isRunning;
    }

    /** Takes a batch that the broker appends at a time. */
    void take(String node, long appendedAt, CallEvent... calls) {
      long before = lines.getOrDefault(node, 0L);
      long lowWatermark = calls.length == 0 ? appendedAt : calls[0].decidedAtEpochMillis();
      memory.take(
          new BatchHeader(node, 1, before + 1, calls.length, lowWatermark, before, false),
          Calls.value(List.of(calls)),
          appendedAt);
      lines.put(node, before + calls.length);
      if (isRunning) {
        memory.tick();
      }
    }

    /** A call of cost 1 that Redis has charged to the quota of its day. */
    CallEvent charged(CallEvent call, CalendarQuota quota) {
      String bucket = bucket(quota, call);
      long used = charged.merge(bucket, 1L, Long::sum);
      Span day = quota.at(call.decidedAtEpochMillis(), ClientCalendar.OF_POLICY);
      Stamp stamp = new Stamp(day.startEpochSecond() * 1_000_000, 0, used, day.endEpochMicros());
      return with(call, quota, DecidedBy.CACHE, stamp);
    }

    long chargedTokens(String bucket) {
      return charged.getOrDefault(bucket, 0L);
    }
  }

  private static CalendarQuota quota(CalendarPeriod period) {
    return new CalendarQuota(1_000, period, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
  }

  private static String bucket(CalendarQuota quota, CallEvent call) {
    long end = quota.at(call.decidedAtEpochMillis(), ClientCalendar.OF_POLICY).endEpochSecond();
    return BucketKey.of("quota", call.client()).in(end).text();
  }

  private static CallEvent with(
      CallEvent call, CalendarQuota quota, DecidedBy decidedBy, @Nullable Stamp stamp) {
    Span span = quota.at(call.decidedAtEpochMillis(), ClientCalendar.OF_POLICY);
    QuotaLimit limit = new QuotaLimit(quota.capacityTokens(), span.endEpochMicros());
    return new CallEvent(
        call.id(),
        false,
        call.client(),
        call.endpoint(),
        call.meter(),
        call.cost(),
        true,
        decidedBy,
        "quota",
        1,
        call.decidedAtEpochMillis(),
        null,
        List.of(new Charge(bucket(quota, call), call.cost(), limit, stamp)),
        null,
        call.billing());
  }

  /** A client who is billed by UTC months, or by periods that begin on the day of the boundary. */
  private static CallEvent call(String client, long decidedAt, long boundary) {
    CallEvent call = Calls.allowed(client + decidedAt, client, 1, decidedAt);
    return client.equals("own") ? call.billedIn(calendar(boundary).at(decidedAt)) : call;
  }

  private static BillingCalendar calendar(long boundary) {
    LocalDate day = LocalDate.ofInstant(Instant.ofEpochMilli(boundary), ZoneOffset.UTC);
    BillingCalendar calendar =
        BillingCalendar.of(new ClientCalendar(ZoneOffset.UTC, day.withDayOfMonth(15)));
    assertNotNull(calendar);
    return calendar;
  }

  private static final List<String> CLIENTS = List.of("acme", "own");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "2026-11-15T00:00:00Z",
        "2026-11-28T00:00:00Z",
        "2026-12-01T00:00:00Z",
        "2027-01-01T00:00:00Z"
      })
  void aggregatorStoppedAtABoundary_rowsAndQuotas_areThoseOfOneThatRan(String moment) {
    long boundary = Instant.parse(moment).toEpochMilli();
    for (CalendarPeriod period : List.of(CalendarPeriod.DAY, CalendarPeriod.MONTH)) {
      Partition ran = history(boundary, period, true);
      Partition stopped = history(boundary, period, false);

      assertEquals(texts(ran.memory.ledger), texts(stopped.memory.ledger));
      assertEquals(ran.memory.states, stopped.memory.states);
      assertBilled(stopped.memory, boundary, CALLS_BEFORE, CALLS_AFTER + 1);
      assertEachRowPrecedesItsClose(stopped.memory.ledger);
      assertTrue(stopped.memory.rows().stream().allMatch(UsageRow::complete));
      for (String client : CLIENTS) {
        assertQuota(ran, quota(period), call(client, boundary + 1, boundary));
        assertQuota(stopped, quota(period), call(client, boundary + 1, boundary));
      }
    }
  }

  /**
   * Calls before and after the boundary. After it, Redis loses its state, and decides no call for a
   * moment.
   */
  private static Partition history(long boundary, CalendarPeriod period, boolean isRunning) {
    CalendarQuota quota = quota(period);
    Partition partition = new Partition(isRunning);
    long at = boundary - CALLS_BEFORE * 180_000L;
    for (int i = 0; i < CALLS_BEFORE; i++, at += 180_000) {
      for (String client : CLIENTS) {
        partition.take("a", at + 20, partition.charged(call(client, at, boundary), quota));
      }
      partition.take("b", at + 30);
      if (i == 1) {
        partition.memory.tick();
        partition.memory.restart();
      }
    }
    for (int i = 0; i < CALLS_AFTER; i++, at += 180_000) {
      for (String client : CLIENTS) {
        partition.take("a", at + 20, partition.charged(call(client, at, boundary), quota));
      }
      partition.take("b", at + 30);
    }
    for (String client : CLIENTS) {
      CallEvent open = call(client, at, boundary);
      partition.take("a", at + 20, with(open, quota, DecidedBy.FAIL_OPEN, null));
    }
    partition.memory.takeCacheLoss("generation", at + 100);
    for (int i = 0; i < 4; i++, at += Duration.ofMinutes(30).toMillis()) {
      partition.take("a", at + 200);
      partition.take("b", at + 201);
    }
    partition.memory.restart();
    partition.memory.tick();
    partition.take("a", at);
    partition.take("b", at + 1);
    partition.memory.tick();
    return partition;
  }

  /** The newest correction of the running period states every call of the period. */
  private static void assertQuota(Partition partition, CalendarQuota quota, CallEvent ofPeriod) {
    String bucket = bucket(quota, ofPeriod);
    Correction last =
        partition.memory.corrections.stream()
            .filter(one -> one.bucket().equals(bucket))
            .reduce((first, second) -> second)
            .orElseThrow();
    assertEquals(partition.chargedTokens(bucket), last.chargedTokens(), last::toString);
    assertEquals(partition.chargedTokens(bucket) + 1, last.totalTokens(), last::toString);
    assertEquals(1, partition.memory.restored.size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"2026-11-15T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"})
  void nodeStoppedWithAFullJournalAtABoundary_backWithinTheHold_windowsHaveWaited(String moment) {
    long boundary = Instant.parse(moment).toEpochMilli();
    Partition partition = journalSentAfter(boundary, HOLD.dividedBy(2));

    assertBilled(partition.memory, boundary, 2 * CALLS_BEFORE, 1);
    assertTrue(partition.memory.rows().stream().allMatch(UsageRow::complete));
    assertTrue(partition.memory.rows().stream().allMatch(row -> row.type() == UsageRow.Type.FINAL));
    assertEachRowPrecedesItsClose(partition.memory.ledger);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2026-11-15T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"})
  void nodeStoppedWithAFullJournalAtABoundary_backAfterTheHold_isAdjustedInTheOldPeriod(
      String moment) {
    long boundary = Instant.parse(moment).toEpochMilli();
    Partition partition = journalSentAfter(boundary, HOLD.multipliedBy(30));

    assertBilled(partition.memory, boundary, 2 * CALLS_BEFORE, 1);
    List<UsageRow> adjustments =
        partition.memory.rows().stream()
            .filter(row -> row.type() == UsageRow.Type.ADJUSTMENT)
            .toList();
    assertEquals(
        2L * CALLS_BEFORE, adjustments.stream().mapToLong(row -> row.count().quantity()).sum());
    assertTrue(partition.memory.rows().stream().noneMatch(UsageRow::complete));
    assertEquals(List.of(), partition.memory.publish().possibleGaps(), "nothing is missing now");
    assertEachRowPrecedesItsClose(partition.memory.ledger);
  }

  /**
   * Both nodes have calls before the boundary. The journal of {@code b} sends its calls only after
   * the boundary, when {@code a} has already sent a call of the new period.
   */
  private static Partition journalSentAfter(long boundary, Duration after) {
    CalendarQuota quota = quota(CalendarPeriod.DAY);
    Partition partition = new Partition(true);
    long begin = boundary - CALLS_BEFORE * 60_000L;
    partition.take("b", begin);
    List<CallEvent> journal = new ArrayList<>();
    for (int i = 0; i < CALLS_BEFORE; i++) {
      long at = begin + i * 60_000L;
      for (String client : CLIENTS) {
        partition.take("a", at + 20, partition.charged(call(client, at, boundary), quota));
        journal.add(partition.charged(call(client, at + 1, boundary), quota));
      }
    }
    for (String client : CLIENTS) {
      partition.take(
          "a", boundary + 40, partition.charged(call(client, boundary, boundary), quota));
    }
    long back = boundary + after.toMillis();
    for (long at = boundary + WINDOW.toMillis(); at < back; at += WINDOW.toMillis()) {
      partition.take("a", at);
    }
    partition.take("b", back, journal.toArray(CallEvent[]::new));
    partition.take("b", back + WINDOW.toMillis() * 2);
    partition.take("a", back + WINDOW.toMillis() * 2);
    partition.memory.tick();

    Set<String> running = new HashSet<>();
    for (String client : CLIENTS) {
      running.add(bucket(quota, call(client, boundary, boundary)));
    }
    assertEquals(
        List.of(),
        partition.memory.corrections.stream()
            .filter(one -> running.contains(one.bucket()))
            .toList(),
        "the quota of the new day has every charge already");
    return partition;
  }

  /** The calls before the boundary are in the periods of that time, and no others are. */
  private static void assertBilled(Memory memory, long boundary, long before, long after) {
    Map<String, Long> expected = new TreeMap<>();
    for (String client : CLIENTS) {
      add(expected, call(client, boundary - 1, boundary), before);
      add(expected, call(client, boundary, boundary), after);
    }
    Map<String, Long> billed = new TreeMap<>();
    for (UsageRow row : memory.rows()) {
      String period = row.key().client() + " " + row.billingPeriod();
      billed.merge(period, row.count().quantity(), Long::sum);
    }
    assertEquals(expected, billed);
    assertFalse(billed.isEmpty());
  }

  private static void add(Map<String, Long> expected, CallEvent call, long quantity) {
    BilledIn own = call.billing();
    BillingPeriod period =
        own == null ? BillingPeriod.utcMonthHolding(call.decidedAtEpochMillis()) : own.period();
    expected.merge(call.client() + " " + period, quantity, Long::sum);
  }

  private static void assertEachRowPrecedesItsClose(List<LedgerRow> ledger) {
    long closedThrough = 0;
    Set<String> ids = new HashSet<>();
    for (LedgerRow row : ledger) {
      assertTrue(ids.add(row.recordId()), row::toString);
      if (row instanceof CloseRow close) {
        assertTrue(close.closedThroughEpochMillis() > closedThrough, close::toString);
        closedThrough = close.closedThroughEpochMillis();
      } else if (row instanceof UsageRow usage && usage.type() == UsageRow.Type.FINAL) {
        assertTrue(usage.window().endEpochMillis() > closedThrough, usage::toString);
      }
    }
  }

  private static List<String> texts(List<LedgerRow> rows) {
    return rows.stream()
        .map(row -> new String(LedgerRowCodec.encode(row), StandardCharsets.UTF_8))
        .toList();
  }
}
