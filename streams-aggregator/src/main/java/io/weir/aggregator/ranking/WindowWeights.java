// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The greatest figures of one window of a partition, by client and by endpoint. Not thread-safe.
 */
final class WindowWeights {
  /**
   * Maximum size of a sketch's map. With at most 768 names the error is 0. With over 768 names the
   * error is at most 0.35 % of the total.
   */
  static final int MAP_SIZE = 1_024;

  /**
   * Maximum number of meters with their own sketches in a window. The number is limited because
   * clients choose the names of meters.
   */
  static final int MAX_METERS = 4;

  private final Map<String, Pair> quantities = new HashMap<>();

  /**
   * Quantities of the meters that are not in {@link #quantities}. The meter and a slash precede
   * each name.
   */
  private final Pair furtherQuantities = new Pair();

  private final Pair denied = new Pair();

  /** The sketches of one figure, for clients and for endpoints. */
  private static final class Pair {
    final ChangingWeights clients = new ChangingWeights(MAP_SIZE);
    final ChangingWeights endpoints = new ChangingWeights(MAP_SIZE);

    void add(String prefix, StateRowKey key, long change, NameCache names) {
      if (change != 0) {
        clients.add(names.of(prefixed(prefix, key.client())), change);
        endpoints.add(names.of(prefixed(prefix, key.endpoint())), change);
      }
    }

    private static String prefixed(String prefix, String name) {
      return prefix.isEmpty() ? name : prefix + name;
    }

    int size() {
      return clients.size() + endpoints.size();
    }
  }

  /**
   * Adds the change of a row of this window.
   *
   * @param names the cache that supplies {@link Name} instances
   */
  void add(StateRowKey key, RowFigures change, NameCache names) {
    denied.add("", key, change.denied(), names);
    String meter = key.meter();
    if (change.quantity() == 0) {
      return;
    }
    if (quantities.containsKey(meter) || quantities.size() < MAX_METERS) {
      quantities.computeIfAbsent(meter, first -> new Pair()).add("", key, change.quantity(), names);
    } else {
      furtherQuantities.add(meter + '/', key, change.quantity(), names);
    }
  }

  /**
   * Adds the selected figures to the sum of several windows. Sketches are never removed, so a meter
   * always stays in its own sketches, or in the common sketches of further meters.
   *
   * @param meter the meter, encoded as in the keys of the state topic
   */
  void addTo(ChangingWeights sum, RankingSelection selection, String meter) {
    Function<Pair, ChangingWeights> of =
        switch (selection.subject()) {
          case CLIENTS -> pair -> pair.clients;
          case ENDPOINTS -> pair -> pair.endpoints;
        };
    if (selection.measure() == RankingSelection.Measure.DENIED) {
      sum.addAll(of.apply(denied));
    } else if (quantities.containsKey(meter)) {
      sum.addAll(of.apply(quantities.get(meter)));
    } else {
      sum.addWithPrefix(meter + '/', of.apply(furtherQuantities));
    }
  }

  /** Returns the number of names in all sketches. */
  int size() {
    return Stream.concat(quantities.values().stream(), Stream.of(furtherQuantities, denied))
        .mapToInt(Pair::size)
        .sum();
  }
}
