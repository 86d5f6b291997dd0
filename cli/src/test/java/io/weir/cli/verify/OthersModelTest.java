// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.state.ByteStore;
import io.weir.limits.BillingCalendar;
import io.weir.limits.ClientCalendar;
import io.weir.testing.SuiteForm;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random histories with more endpoints than have rows of their own, counted by the aggregator and
 * verified by rules that share nothing with it: repeated, settled and late calls, callers' ids,
 * calendars that change, two meters, restarts in the midst of a window, missing batches, silent
 * nodes.
 */
final class OthersModelTest {
  private static final int HISTORIES = SuiteForm.isFull() ? 20 : 8;
  private static final int BATCHES = 60;
  private static final long BEGIN = Instant.parse("2026-11-20T10:00:00Z").toEpochMilli();
  private static final List<String> ENDPOINTS =
      List.of("other", "@others", "-", "GET /a", "GET /b", "GET /c", "é/%40others");
  private static final List<String> METERS = List.of("calls", "bytes");
  private static final List<@Nullable BillingCalendar> CALENDARS =
      Arrays.asList(null, null, calendar("Asia/Kathmandu"), calendar("Europe/Paris"));

  @TempDir private Path folder;

  private static BillingCalendar calendar(String zone) {
    return Objects.requireNonNull(
        BillingCalendar.of(new ClientCalendar(ZoneId.of(zone), LocalDate.of(2026, 1, 15))));
  }

  @Test
  void whatTheAggregatorDivides_isWhatVerifyExpects() throws IOException {
    long inOtherRows = 0;
    for (long seed = 1; seed <= HISTORIES; seed++) {
      History history = new History(seed, store -> store);
      String label = "seed " + seed;
      assertEquals(List.of(), history.run(), label);
      inOtherRows += history.partition.inOtherRows;
    }
    assertTrue(inOtherRows > 10L * HISTORIES, "lines in rows of others: " + inOtherRows);
  }

  /** The rows that a window has are not counted after a restart. */
  @Test
  void anotherDivision_isFound() throws IOException {
    int found = 0;
    for (long seed = 1; seed <= HISTORIES; seed++) {
      List<String> differences = new History(seed, Uncounted::new).run();
      found +=
          differences.stream()
                  .anyMatch(one -> one.contains("has its own row, but was first counted"))
              ? 1
              : 0;
    }
    assertTrue(found > HISTORIES / 4, "found in " + found);
  }

  private record Uncounted(ByteStore real) implements ByteStore {
    @Override
    public byte @Nullable [] get(byte[] key) {
      return real.get(key);
    }

    @Override
    public void put(byte[] key, byte[] value) {
      real.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      real.delete(key);
    }

    /** Ranges of one client and meter end in names, those of windows behind eight bytes. */
    @Override
    public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
      return to.length > Long.BYTES ? List.of() : real.scan(from, to, maxEntries);
    }
  }

  private record Sealed(BatchHeader header, List<CallEvent> lines) {}

  private record Placed(CallEvent call, UsagePosition position) {}

  private final class History {
    private final Random random;
    private final CountedPartition partition;
    private final List<Sealed> sent = new ArrayList<>();
    private final List<Placed> allowed = new ArrayList<>();
    private long now = BEGIN;
    private long otherEpoch = BEGIN;
    private long lines;
    private long ids;

    History(long seed, UnaryOperator<ByteStore> rows) {
      random = new Random(seed);
      partition =
          new CountedPartition(
              new CountSettings(
                  10_000,
                  2_000,
                  random.nextBoolean() ? 60_000 : 10_000,
                  3_600_000,
                  1 + random.nextInt(4)),
              rows);
    }

    List<String> run() throws IOException {
      for (int batch = 0; batch < BATCHES; batch++) {
        now += random.nextInt(3_000);
        if (random.nextInt(12) == 0) {
          seal(); // is sent later, or never
        }
        if (random.nextInt(20) == 0) {
          otherNode();
        }
        send(
            random.nextInt(8) == 0 && !sent.isEmpty()
                ? sent.get(random.nextInt(sent.size()))
                : seal());
        partition.close(random.nextInt(5));
        if (random.nextInt(4) == 0) {
          partition.publish();
        }
        if (random.nextInt(10) == 0) {
          partition.restart();
        }
      }
      now += 30_000;
      BatchHeader goodbye = new BatchHeader("n", BEGIN, sent.size(), 0, now, lines, true);
      partition.take(goodbye, List.of(), now);
      partition.close(Integer.MAX_VALUE);
      partition.publish();
      return partition.differences(folder, now / 10_000 * 10_000 - 10_000);
    }

    /** A node that goes silent, returns, or is opened again without a final heartbeat. */
    private void otherNode() {
      otherEpoch = random.nextInt(3) == 0 ? now : otherEpoch;
      boolean departing = random.nextInt(3) == 0;
      partition.take(new BatchHeader("m", otherEpoch, 0, 0, now, 0, departing), List.of(), now);
    }

    private void send(Sealed batch) {
      partition.take(batch.header(), batch.lines(), now);
    }

    private Sealed seal() {
      List<CallEvent> sealed = new ArrayList<>();
      List<Placed> fresh = new ArrayList<>();
      int count = 1 + random.nextInt(6);
      for (int line = 1; line <= count; line++) {
        CallEvent made = line();
        sealed.add(made);
        if (made.settlement() == null && made.allowed()) {
          fresh.add(new Placed(made, new UsagePosition(0, "n", BEGIN, lines + line)));
        }
      }
      allowed.addAll(fresh);
      BatchHeader header =
          new BatchHeader("n", BEGIN, sent.size() + 1L, count, now - 1_000, lines, false);
      lines += count;
      Sealed batch = new Sealed(header, sealed);
      sent.add(batch);
      return batch;
    }

    private CallEvent line() {
      if (!allowed.isEmpty() && random.nextInt(5) == 0) {
        Placed placed = allowed.get(random.nextInt(allowed.size()));
        long cost = random.nextInt(3) == 0 ? 0 : random.nextInt(12);
        return placed.call().settledAt(new CallSettlement(cost, now, placed.position()));
      }
      boolean fromCaller = random.nextInt(4) == 0;
      boolean isLate = random.nextInt(6) == 0;
      long decidedAt = now - random.nextInt(isLate ? 90_000 : 2_000);
      CallEvent call =
          new CallEvent(
              fromCaller ? "id" + random.nextInt(15) : "s" + ids++,
              fromCaller,
              "c" + random.nextInt(2),
              ENDPOINTS.get(random.nextInt(ENDPOINTS.size())),
              METERS.get(random.nextInt(METERS.size())),
              1 + random.nextInt(3),
              random.nextInt(5) > 0,
              DecidedBy.CACHE,
              null,
              1,
              decidedAt,
              null,
              List.of());
      BillingCalendar calendar = CALENDARS.get(random.nextInt(CALENDARS.size()));
      return calendar == null ? call : call.billedIn(calendar.at(decidedAt));
    }
  }
}
