// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The sums of the results of many histories. */
final class Tally {
  private final List<Simulation.Outcome> failures = new ArrayList<>();
  private final TreeMap<String, Long> faults = new TreeMap<>();
  private long seeds;
  private long steps;
  private long calls;

  void add(List<Simulation.Outcome> outcomes) {
    for (Simulation.Outcome outcome : outcomes) {
      seeds++;
      steps += outcome.steps();
      calls += outcome.calls();
      outcome.faults().forEach((fault, times) -> faults.merge(fault, times, Long::sum));
      if (!outcome.isGood()) {
        failures.add(outcome);
      }
    }
  }

  List<Simulation.Outcome> failures() {
    return failures;
  }

  void print(PrintWriter out, double seconds) {
    long injected = faults.values().stream().mapToLong(Long::longValue).sum();
    out.printf(
        "%d seeds in %.1f s (%.1f a second): %d steps, %d calls answered, %d disturbances%n",
        seeds, seconds, seeds / seconds, steps, calls, injected);
    for (Map.Entry<String, Long> fault : faults.entrySet()) {
      out.printf("  %9d  %s%n", fault.getValue(), fault.getKey());
    }
    out.printf("%d of %d seeds break an invariant%n", failures.size(), seeds);
  }
}
