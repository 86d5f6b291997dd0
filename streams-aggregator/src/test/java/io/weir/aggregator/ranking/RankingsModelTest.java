// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.ranking.RankingSelection.Measure;
import io.weir.aggregator.ranking.RankingSelection.Subject;
import io.weir.aggregator.table.TableStore;
import io.weir.aggregator.table.TableWrites;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rankings of random histories, with restarts, against sums over all rows. */
final class RankingsModelTest {
  private static final int PARTITIONS = 3;
  private static final Duration WINDOW = Duration.ofMinutes(15);
  private static final int RANKED = 4;
  private static final long START = 1_800_000_000_000L / WINDOW.toMillis() * WINDOW.toMillis();
  private static final List<String> METERS = List.of("calls", "a/b", "c", "d", "e", "tokens");

  @TempDir Path folder;

  /** The newest rows by partition and key. */
  private final Map<Integer, Map<String, UsageState>> rows = new TreeMap<>();

  private TableStore store;
  private Rankings rankings;
  private long now = START;

  @BeforeEach
  void open() {
    store = TableStore.open(folder, "topic");
    rankings = new Rankings(store, WINDOW, RANKED, Duration.ofMinutes(5));
  }

  @AfterEach
  void close() {
    store.close();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void figures_areThoseOfTheTable_afterRestartsRepetitionsAndDecreases(long seed) {
    Random random = new Random(seed);
    int clients = seed % 2 == 0 ? 20 : 2_500;
    restart();
    for (int step = 0; step < 6_000; step++) {
      change(random, clients);
      if (random.nextInt(1_500) == 0) {
        now += WINDOW.toMillis();
      }
      if (random.nextInt(1_000) == 0) {
        restart(); // read again while rows change
      }
      if (random.nextInt(20) == 0) {
        workABit(random.nextInt(50));
      }
      if (random.nextInt(500) == 0) {
        check(random, seed);
      }
    }
    check(random, seed);
  }

  @Test
  void whileThePartitionIsRead_andOfOldWindows_returnsNothing() {
    write(0, state("a", "calls", "e", START, 5, 0));
    RankingSelection all = selection(Subject.CLIENTS, Measure.QUANTITY, "calls", START, "");
    assertTrue(rankings.weights(0, all).isEmpty(), "not followed");
    rankings.begin(0);
    assertTrue(rankings.weights(0, all).isEmpty(), "not read yet");
    while (rankings.work(5_000_000)) {
      assertTrue(rankings.weights(0, all).isEmpty(), "not read to the end");
    }
    assertEquals(1, rankings.weights(0, all).orElseThrow().weights().size());

    now = START + RANKED * WINDOW.toMillis();
    write(0, state("b", "calls", "e", now, 1, 0));
    assertTrue(rankings.weights(0, all).isPresent(), "the clock may be ahead by 5 minutes");
    now += 2 * WINDOW.toMillis();
    write(0, state("b", "calls", "e", now, 1, 0));

    assertTrue(rankings.weights(0, all).isEmpty(), "its window is gone");
    rankings.end(0);
    RankingSelection newest = selection(Subject.CLIENTS, Measure.QUANTITY, "calls", now, "");
    assertTrue(rankings.weights(0, newest).isEmpty());
  }

  @Test
  void foreignRecords_areLeftOut() {
    rankings.begin(0);
    for (String key : List.of("", "@x/0", "a", "a/b/c/d", "a/b/c/7", "a/b/c/-00000000000001")) {
      TableWrites.write(store, rankings, 0, utf8(key), utf8("{}"));
    }
    UsageState good = state("a", "calls", "e", START, 5, 1);
    TableWrites.write(store, rankings, 0, utf8(UsageStateCodec.key(good)), utf8("no row"));
    write(0, good);
    for (int reading = 0; reading < 2; reading++) {
      readAll();

      assertEquals(
          Map.of("a", new PartitionWeights.Weight(1, 0)),
          rankings
              .weights(0, selection(Subject.CLIENTS, Measure.DENIED, "", START, ""))
              .orElseThrow()
              .weights());
      rankings.begin(0);
    }
  }

  @Test
  void manyMeters_shareASketch_andKeepTheirFigures() {
    rankings.begin(0);
    readAll();
    for (int meter = 0; meter < 1_000; meter++) {
      write(0, state("a", "m" + meter, "e", START, 1 + meter, 0));
    }
    write(0, state("b", "m900", "e", START, 1_000_000, 0));
    for (int meter : new int[] {0, 3, 4, 900, 1_001}) {
      Map<String, Long> exact =
          meter == 900
              ? Map.of("a", 901L, "b", 1_000_000L)
              : meter > 1_000 ? Map.of() : Map.of("a", 1L + meter);
      RankedNames ranked =
          ranked(selection(Subject.CLIENTS, Measure.QUANTITY, "m" + meter, START, ""), 10);

      ChangingWeightsTest.assertBounds(exact, ranked);
    }
    assertTrue(
        store.get(0, utf8("a/m999/e/" + UsageStateCodec.start(START))) != null
            && rankings
                    .weights(0, selection(Subject.ENDPOINTS, Measure.QUANTITY, "m3", START, ""))
                    .orElseThrow()
                    .increaseError()
                == 0,
        "a meter with a sketch of its own stays exact");
  }

  private void restart() {
    rankings = new Rankings(store, WINDOW, RANKED, Duration.ofMinutes(5));
    for (int partition = 0; partition < PARTITIONS; partition++) {
      PartitionProgress progress =
          new PartitionProgress(
              partition, 7, now, now, now, PartitionProgress.Counters.ZERO, 0, 0, List.of());
      TableWrites.write(
          store,
          rankings,
          partition,
          utf8(PartitionProgressCodec.key(partition)),
          PartitionProgressCodec.encode(progress));
      rankings.begin(partition);
    }
  }

  private void workABit(int rowsAtOnce) {
    for (int partition = 0; partition < PARTITIONS; partition++) {
      int[] left = {rowsAtOnce};
      rankings.read(partition, () -> left[0]-- == 0);
    }
  }

  private void readAll() {
    while (rankings.work(5_000_000)) {
      // until all is read
    }
  }

  private void change(Random random, int clients) {
    int number = (int) (clients * Math.pow(random.nextDouble(), 3));
    String client = (number % 7 == 0 ? "grün/" : "c") + number;
    long start = now - random.nextInt(RANKED + 4) * WINDOW.toMillis();
    UsageKey key =
        random.nextInt(10) == 0
            ? UsageKey.others(client, METERS.get(0))
            : new UsageKey(
                client,
                METERS.get(random.nextInt(METERS.size())),
                random.nextInt(3) == 0 ? "@others" : "GET /" + random.nextInt(40));
    int partition = number % PARTITIONS;
    String name = UsageStateCodec.prefix(key) + UsageStateCodec.start(start);
    UsageState before = rows.computeIfAbsent(partition, one -> new HashMap<>()).get(name);
    if (before != null && random.nextInt(10) == 0) {
      write(partition, before); // a second time
      return;
    }
    if (before != null && random.nextInt(50) == 0) {
      TableWrites.write(store, rankings, partition, utf8(name), null);
      rows.get(partition).remove(name);
      return;
    }
    long quantity = before == null ? 0 : before.count().quantity();
    long change = random.nextInt(100) - (before == null ? 5L : 30L);
    long denied = before == null ? 0 : before.count().callsDenied();
    write(partition, state(key, start, quantity + change, denied + random.nextInt(3)));
  }

  private void write(int partition, UsageState state) {
    String key = UsageStateCodec.key(state);
    TableWrites.write(store, rankings, partition, utf8(key), UsageStateCodec.encode(state));
    rows.computeIfAbsent(partition, one -> new HashMap<>()).put(key, state);
  }

  private void check(Random random, long seed) {
    readAll();
    for (Subject subject : Subject.values()) {
      for (Measure measure : Measure.values()) {
        long from = now - random.nextInt(RANKED) * WINDOW.toMillis();
        String prefix = random.nextInt(3) == 0 ? "grün" : "";
        RankingSelection selection =
            selection(subject, measure, METERS.get(random.nextInt(METERS.size())), from, prefix);
        Map<String, Long> exact = exact(selection);
        RankedNames ranked = ranked(selection, 1 + random.nextInt(1_000));

        ChangingWeightsTest.assertBounds(exact, ranked);
        ChangingWeightsTest.assertOrder(exact, ranked);
        if (seed % 2 == 0) {
          assertTrue(
              ranked.rows().stream().allMatch(row -> row.error() == 0), "few names are exact");
        }
      }
    }
  }

  private RankedNames ranked(RankingSelection selection, int limit) {
    List<PartitionWeights> all = new ArrayList<>();
    for (int partition = 0; partition < PARTITIONS; partition++) {
      Optional<PartitionWeights> weights = rankings.weights(partition, selection);
      weights.ifPresent(all::add);
    }
    return selection.subject() == Subject.CLIENTS
        ? RankedNames.ofSeparate(all, limit)
        : RankedNames.ofSums(all, limit);
  }

  private Map<String, Long> exact(RankingSelection selection) {
    Map<String, Long> sums = new HashMap<>();
    String prefix = UsageStateCodec.encodedName(selection.prefix());
    for (Map<String, UsageState> ofPartition : rows.values()) {
      for (UsageState row : ofPartition.values()) {
        UsageKey key = row.key();
        long start = row.window().startEpochMillis();
        boolean isOfMeter = key.meter().equals(selection.meter());
        if (start < selection.fromEpochMillis()
            || start >= selection.toEpochMillis()
            || (selection.measure() == Measure.QUANTITY && !isOfMeter)) {
          continue;
        }
        String name =
            selection.subject() == Subject.CLIENTS
                ? UsageStateCodec.encodedName(key.client())
                : UsageStateCodec.encodedEndpoint(key);
        if (name.startsWith(prefix)) {
          sums.merge(
              name,
              selection.measure() == Measure.QUANTITY
                  ? row.count().quantity()
                  : row.count().callsDenied(),
              Long::sum);
        }
      }
    }
    return sums;
  }

  private RankingSelection selection(
      Subject subject, Measure measure, String meter, long from, String prefix) {
    return new RankingSelection(subject, measure, meter, from, now + WINDOW.toMillis(), prefix);
  }

  private static UsageState state(
      String client, String meter, String endpoint, long start, long quantity, long denied) {
    return state(new UsageKey(client, meter, endpoint), start, quantity, denied);
  }

  private static UsageState state(UsageKey key, long start, long quantity, long denied) {
    return new UsageState(
        key,
        new UsageWindow(start, start + WINDOW.toMillis()),
        UsageState.Status.RUNNING,
        0,
        new UsageCount(quantity, 1, denied, 0, 0, 0, 1 + denied, 0, 0, 0, 0),
        false);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
