// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ChangingWeightsTest {
  private static final int EXACT_NAMES = WindowWeights.MAP_SIZE * 3 / 4;

  @Test
  void asManyNamesAsAreHeld_areExact_alsoAfterDecreases() {
    ChangingWeights weights = new ChangingWeights(WindowWeights.MAP_SIZE);
    Map<String, Long> exact = new HashMap<>();
    for (int i = 0; i < EXACT_NAMES; i++) {
      add(weights, exact, "n" + i, 1_000L + i);
      add(weights, exact, "n" + i, -i);
    }

    RankedNames ranked = ranked(weights, 1_000);

    assertEquals(EXACT_NAMES, ranked.rows().size());
    assertEquals(0, ranked.unlistedAtMost());
    for (RankedNames.Row row : ranked.rows()) {
      assertEquals(1_000, row.estimate(), row.name());
      assertEquals(0, row.error(), row.name());
    }
  }

  /** A sender that invents a name for each call must not hide who calls most. */
  @Test
  void manyNamesOfOneCall_doNotPushOutTheHeavyOnes() {
    ChangingWeights weights = new ChangingWeights(WindowWeights.MAP_SIZE);
    Map<String, Long> exact = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      add(weights, exact, "invented" + i, 1);
      if (i % 10 == 0) {
        add(weights, exact, "heavy" + i / 10 % 20, 1);
      }
    }
    long total = exact.values().stream().mapToLong(Long::longValue).sum();

    RankedNames ranked = ranked(weights, 20);

    assertBounds(exact, ranked);
    assertTrue(
        ranked.rows().stream().allMatch(row -> row.name().startsWith("heavy")), ranked.toString());
    for (RankedNames.Row row : ranked.rows()) {
      assertTrue(row.error() > 0, "names beyond those that are held were to be sent");
      assertTrue(row.error() <= total * 3.5 / WindowWeights.MAP_SIZE, row.toString());
    }
  }

  /** 4,096 names that all have one {@link String#hashCode}, as a caller can make them. */
  @Test
  void namesOfOneHashCode_areHeldAsOthersAre() {
    List<String> names = new ArrayList<>(List.of(""));
    for (int i = 0; i < 12; i++) {
      List<String> longer = new ArrayList<>();
      names.forEach(name -> longer.addAll(List.of(name + "Aa", name + "BB")));
      names = longer;
    }
    assertEquals(1, names.stream().mapToInt(String::hashCode).distinct().count());
    ChangingWeights weights = new ChangingWeights(4 * names.size());
    Map<String, Long> exact = new HashMap<>();
    for (String name : names) {
      add(weights, exact, name, 1);
    }

    assertEquals(4_096, weights.size());
    assertBounds(exact, ranked(weights, 1_000));
    assertTrue(
        names.stream().mapToInt(name -> new Name(name).hashCode()).distinct().count() > 4_000);
    assertEquals(new Name("a").hashCode(), new Name("a").hashCode());
    assertNotEquals(new Name("a"), new Name("b"));
  }

  @Test
  void sumsBeyondInt64_haveBoundsThatAreTrue() {
    ChangingWeights sum = new ChangingWeights(PartitionRanking.SUM_MAP_SIZE);
    for (int window = 0; window < 3; window++) {
      ChangingWeights weights = new ChangingWeights(WindowWeights.MAP_SIZE);
      for (int i = 0; i < 3; i++) {
        weights.add(new Name("a"), 1L << 60);
        weights.add(new Name("b"), 1);
        weights.add(new Name("b"), -1);
      }
      sum.addAll(weights);
    }

    RankedNames ranked =
        RankedNames.ofSums(
            List.of(sum.weights(""), sum.weights(""), sum.weights(""), sum.weights("")), 10);

    RankedNames.Row row = ranked.rows().get(0);
    assertEquals("a", row.name());
    assertTrue(row.lowerBound() > 0, row.toString());
    assertEquals(Long.MAX_VALUE, row.upperBound(), "36 times 2^60 is more");
    assertEquals(Long.MAX_VALUE, ranked.unlistedAtMost());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void bounds_areTrue_overPartitionsAndWindows(long seed) {
    Random random = new Random(seed);
    int names = 300 + random.nextInt(6_000);
    Map<String, Long> exact = new HashMap<>();
    List<PartitionWeights> partitions = new ArrayList<>();
    for (int partition = 0; partition < 3; partition++) {
      ChangingWeights sum = new ChangingWeights(PartitionRanking.SUM_MAP_SIZE);
      for (int window = 0; window < 4; window++) {
        ChangingWeights weights = new ChangingWeights(WindowWeights.MAP_SIZE);
        for (int i = 0; i < 3_000; i++) {
          int name = (int) (names * Math.pow(random.nextDouble(), 3));
          long change = 1L + random.nextInt(100);
          boolean isDecrease = seed % 2 == 0 && random.nextInt(4) == 0;
          add(weights, exact, "n" + name, isDecrease ? -change : change);
        }
        sum.addAll(weights);
      }
      partitions.add(sum.weights(""));
    }
    for (int limit : new int[] {1, 10, 1_000}) {
      RankedNames ranked = RankedNames.ofSums(partitions, limit);

      assertBounds(exact, ranked);
      assertOrder(exact, ranked);
    }
  }

  private static void add(
      ChangingWeights weights, Map<String, Long> exact, String name, long change) {
    weights.add(new Name(name), change);
    exact.merge(name, change, Long::sum);
  }

  private static RankedNames ranked(ChangingWeights weights, int limit) {
    return RankedNames.ofSeparate(List.of(weights.weights("")), limit);
  }

  /** Every name's figure is within its bounds, or below the bound of unlisted names. */
  static void assertBounds(Map<String, Long> exact, RankedNames ranked) {
    Map<String, Long> unlisted = new HashMap<>(exact);
    for (RankedNames.Row row : ranked.rows()) {
      long figure = exact.getOrDefault(row.name(), 0L);
      assertTrue(row.lowerBound() <= figure && figure <= row.upperBound(), row + " " + figure);
      assertTrue(Math.abs(row.estimate() - figure) <= row.error() / 2 + 1, row + " " + figure);
      unlisted.remove(row.name());
    }
    unlisted.forEach(
        (name, figure) -> assertTrue(figure <= ranked.unlistedAtMost(), name + " " + figure));
  }

  /** Who stands before another one has as much as that one, less that one's error. */
  static void assertOrder(Map<String, Long> exact, RankedNames ranked) {
    long least = Long.MAX_VALUE;
    for (RankedNames.Row row : ranked.rows()) {
      long figure = exact.getOrDefault(row.name(), 0L);
      assertTrue(least >= figure - row.error(), ranked.toString());
      least = Math.min(least, figure);
    }
  }
}
