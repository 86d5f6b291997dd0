// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.testing.SuiteForm;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Random histories of ingest nodes, with batches doubled, lost, late and out of order, nodes that
 * fall silent, stop or lose their journal, clients whose calendar changes, more endpoints than have
 * rows of their own, and restarts of the counting: rows, counters and closes are those of {@link
 * SlowCount}.
 */
final class PartitionCounterModelTest {
  private static final int HISTORIES = SuiteForm.isFull() ? 400 : 50;
  private static final int STEPS = 150;
  private static final long BEGIN = 1_000_000_000_000L;
  private static final long MONTH = 30L * 86_400_000;
  private static final CountSettings SETTINGS = new CountSettings(10_000, 3_000, 40_000, 400_000);

  /** Endpoints of a client in a window; few, so that many are beyond the settings. */
  private static final List<String> ENDPOINTS = List.of("e0", "e1", "other", "e3", "e4");

  @Test
  void take_randomHistories_countsAsTheSlowVersion() {
    for (long seed = 1; seed <= HISTORIES; seed++) {
      new History(seed).run();
    }
  }

  private record Sealed(BatchHeader header, List<CallEvent> calls) {}

  private static final class Node {
    final String name;
    long epoch;
    long sequence;
    long lines;
    long lowWatermark;
    final List<Sealed> unsent = new ArrayList<>();
    final List<Sealed> sent = new ArrayList<>();

    Node(String name, long epoch) {
      this.name = name;
      this.epoch = epoch;
    }
  }

  private static final class History {
    private final long seed;
    private final Random random;
    private final int endpoints;
    private final Memory memory;
    private final SlowCount slow;
    private final List<Node> nodes = new ArrayList<>();
    private long now = BEGIN;
    private final List<CallEvent> made = new ArrayList<>();
    private long ids;

    History(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
      CountSettings settings = ofEndpoints(1 + random.nextInt(4));
      this.endpoints = 2 + random.nextInt(ENDPOINTS.size() - 1);
      this.memory = new Memory(settings);
      this.slow = new SlowCount(settings);
      int count = 1 + random.nextInt(3);
      for (int i = 0; i < count; i++) {
        nodes.add(new Node("n" + i, now));
      }
    }

    private static CountSettings ofEndpoints(int maxEndpoints) {
      return new CountSettings(
          SETTINGS.windowMillis(),
          SETTINGS.graceMillis(),
          SETTINGS.maxHoldMillis(),
          SETTINGS.latenessMillis(),
          maxEndpoints);
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        now += random.nextInt(4_000);
        act(nodes.get(random.nextInt(nodes.size())));
        if (random.nextInt(3) == 0) {
          int budget = random.nextInt(4);
          int[] spent = {0};
          memory.counter.close(() -> spent[0]++ >= budget);
        }
        if (random.nextInt(10) == 0) {
          memory.publish();
        }
        if (random.nextInt(25) == 0) {
          memory.restart();
        }
        assertEquals(slow.counters(), memory.counter.progress().counters(), () -> "seed " + seed);
        assertEquals(
            slow.periodConflicts,
            memory.counter.progress().periodConflicts(),
            () -> "seed " + seed);
        assertEquals(
            slow.inOtherRows(), memory.counter.progress().inOtherRows(), () -> "seed " + seed);
      }
      memory.counter.close(() -> false);
      compare();
    }

    private void act(Node node) {
      switch (random.nextInt(14)) {
        case 0 -> node.unsent.add(seal(node)); // sent later, or never
        case 1 -> node.unsent.stream().findFirst().ifPresent(batch -> sendUnsent(node, batch));
        case 2 -> {
          if (!node.sent.isEmpty()) {
            send(node.sent.get(random.nextInt(node.sent.size())));
          }
        }
        case 3 -> send(new Sealed(header(node, 0, now - random.nextInt(50), true), List.of()));
        case 4 -> {
          if (random.nextInt(4) == 0) {
            node.epoch = now;
            node.sequence = 0;
            node.lines = 0;
            node.lowWatermark = 0;
            node.unsent.clear();
            node.sent.clear();
          }
        }
        case 5 -> now += random.nextInt(20) == 0 ? 100_000 : 0;
        case 6 -> {
          memory.takeOnly(header(node, 3, now, false), new byte[0], now);
          slow.refuse(0);
        }
        case 7, 8, 9 ->
            send(new Sealed(header(node, 0, now - random.nextInt(2_000), false), List.of()));
        default -> {
          Sealed batch = seal(node);
          node.sent.add(batch);
          send(batch);
        }
      }
    }

    private void sendUnsent(Node node, Sealed batch) {
      node.unsent.remove(batch);
      node.sent.add(batch);
      send(batch);
    }

    private void send(Sealed batch) {
      memory.takeOnly(batch.header(), Calls.value(batch.calls()), now);
      slow.take(batch.header(), batch.calls(), now);
    }

    private Sealed seal(Node node) {
      List<CallEvent> calls = new ArrayList<>();
      int count = 1 + random.nextInt(5);
      for (int i = 0; i < count; i++) {
        calls.add(line());
      }
      node.sequence++;
      Sealed batch = new Sealed(header(node, count, now - random.nextInt(5_000), false), calls);
      node.lines += count;
      return batch;
    }

    private BatchHeader header(Node node, int count, long lowWatermark, boolean departing) {
      node.lowWatermark =
          Math.max(node.lowWatermark, lowWatermark); // a low watermark never decreases
      long sequence = count == 0 ? node.sequence : Math.max(1, node.sequence);
      return new BatchHeader(
          node.name, node.epoch, sequence, count, node.lowWatermark, node.lines, departing);
    }

    private CallEvent line() {
      if (!made.isEmpty() && random.nextInt(5) == 0) {
        CallEvent call = made.get(random.nextInt(made.size()));
        long actualCost = random.nextInt(4) == 0 ? 0 : random.nextInt(12);
        return call.settledAt(new CallSettlement(actualCost, now));
      }
      CallEvent call = call();
      if (call.allowed()) {
        made.add(call); // perhaps settled in a batch that arrives before its own
      }
      return call;
    }

    private CallEvent call() {
      boolean fromCaller = random.nextInt(4) == 0;
      long age =
          switch (random.nextInt(20)) {
            case 0 -> random.nextInt(500_000);
            case 1 -> -random.nextInt(400_000);
            default -> random.nextInt(3_000);
          };
      String client = random.nextInt(30) == 0 ? "foreign" : "c" + random.nextInt(3);
      return billed(
          Calls.call(
              fromCaller ? "id" + random.nextInt(20) : "s" + ids++,
              fromCaller,
              client,
              ENDPOINTS.get(random.nextInt(endpoints)),
              1 + random.nextInt(5),
              random.nextInt(4) > 0,
              now - age));
    }

    /** The calendars' periods begin in the midst of a window, and of the history. */
    private CallEvent billed(CallEvent call) {
      return switch (random.nextInt(6)) {
        case 0 -> billed(call, "Asia/Kathmandu", BEGIN + 103_457);
        case 1, 2 -> billed(call, "Europe/Paris", BEGIN + 250_000);
        default -> call;
      };
    }

    private static CallEvent billed(CallEvent call, String zone, long boundary) {
      BillingPeriod august = BillingPeriod.own("2001-08-09", zone, boundary - MONTH, boundary);
      BillingPeriod september = BillingPeriod.own("2001-09-09", zone, boundary, boundary + MONTH);
      return call.billedIn(
          call.decidedAtEpochMillis() < boundary
              ? new BilledIn(august, null)
              : new BilledIn(september, august));
    }

    private void compare() {
      String label = "seed " + seed;
      Comparator<SlowCount.Row> order =
          Comparator.comparingLong(SlowCount.Row::windowStart)
              .thenComparing(SlowCount.Row::client)
              .thenComparing(SlowCount.Row::endpoint)
              .thenComparingLong(SlowCount.Row::revision);
      assertEquals(
          slow.rows.stream().sorted(order).toList(),
          memory.rows().stream().map(History::row).sorted(order).toList(),
          label);
      assertEquals(
          slow.closes,
          memory.closes().stream().map(CloseRow::closedThroughEpochMillis).toList(),
          label);
      assertRowsStandBeforeTheirClose(label);
      assertChains(label);
    }

    private void assertRowsStandBeforeTheirClose(String label) {
      long closedThrough = 0;
      long rows = 0;
      long quantity = 0;
      for (var entry : memory.ledger) {
        if (entry instanceof UsageRow row) {
          rows++;
          quantity += row.count().quantity();
          if (row.type() == UsageRow.Type.FINAL) {
            assertTrue(row.window().endEpochMillis() > closedThrough, label);
          }
        } else if (entry instanceof CloseRow close) {
          assertEquals(rows, close.rows(), label);
          assertEquals(quantity, close.quantityTotal(), label);
          closedThrough = close.closedThroughEpochMillis();
          rows = 0;
          quantity = 0;
        }
      }
    }

    /** Each row names the one before it, and totals add up. */
    private void assertChains(String label) {
      Map<String, String> lastOfKey = new HashMap<>();
      Map<String, Long> totals = new HashMap<>();
      Set<String> recordIds = new HashSet<>();
      for (UsageRow row : memory.rows()) {
        String key = row.key() + "@" + row.window().startEpochMillis();
        assertTrue(recordIds.add(row.recordId()), label);
        assertEquals(lastOfKey.put(key, row.recordId()), row.previousRecordId(), label);
        assertEquals(
            totals.merge(key, row.count().quantity(), Long::sum), row.quantityTotal(), label);
      }
    }

    private static SlowCount.Row row(UsageRow row) {
      return new SlowCount.Row(
          row.type().name(),
          row.revision(),
          row.window().startEpochMillis(),
          row.key().client(),
          row.key().others() ? SlowCount.OTHERS : row.key().endpoint(),
          row.count().quantity(),
          row.count().callsAllowed(),
          row.count().callsDenied(),
          row.count().lateCount(),
          row.count().duplicatesDropped(),
          row.closedThroughEpochMillis(),
          row.ownPeriod() == null ? row.billingPeriod().name() : row.ownPeriod().toString());
    }
  }
}
