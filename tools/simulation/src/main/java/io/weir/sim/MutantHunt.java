// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The seeds that found a planted bug.
 *
 * @param firstSeed the first seed that found the bug, counted from 1; 0 if no seed found it
 * @param found number of seeds that found the bug
 * @param seeds number of seeds that were run
 * @param invariants the invariants that the bug broke, with the number of seeds
 */
record MutantHunt(long firstSeed, int found, int seeds, Map<String, Integer> invariants) {
  MutantHunt {
    invariants = new TreeMap<>(invariants);
  }

  static MutantHunt of(List<Simulation.Outcome> outcomes) {
    long first = 0;
    int found = 0;
    Map<String, Integer> invariants = new TreeMap<>();
    for (Simulation.Outcome outcome : outcomes) {
      String broken = outcome.broken();
      if (broken != null) {
        first = first == 0 ? outcome.seed() : first;
        found++;
        invariants.merge(broken.substring(0, broken.indexOf(':')), 1, Integer::sum);
      }
    }
    return new MutantHunt(first, found, outcomes.size(), invariants);
  }

  boolean isFound() {
    return found > 0;
  }

  /** Prints a table, in the format of the documentation. */
  static void print(PrintWriter out, Map<Mutant, MutantHunt> hunts) {
    out.println("| mutant | bug | first seed | seeds that find it | invariant |");
    out.println("|---|---|---|---|---|");
    hunts.forEach(
        (mutant, hunt) ->
            out.printf(
                "| `%s` | %s | %s | %.1f %% of %d | %s |%n",
                mutant.name(),
                mutant.bug(),
                hunt.isFound() ? hunt.firstSeed : "none",
                100.0 * hunt.found / hunt.seeds,
                hunt.seeds,
                String.join(", ", hunt.invariants.keySet())));
  }
}
