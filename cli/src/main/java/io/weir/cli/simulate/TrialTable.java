// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;

/** Prints the calls that policies would have denied. */
final class TrialTable {
  private static final int SHOWN_CLIENTS = 20;
  private static final long MICROS_PER_SECOND = 1_000_000;

  private TrialTable() {}

  private static String count(long number, String singular, String plural) {
    return String.format("%,d %s", number, number == 1 ? singular : plural);
  }

  /**
   * Prints the results of a trial.
   *
   * @param calls the decided calls, at least one, in order of time
   */
  public static void print(PolicyTrial trial, List<SimulatedCall> calls, PrintWriter out) {
    List<PolicyTrial.Limited> limited = trial.limited();
    out.printf(
        "%s of %s from %s to %s%n",
        count(trial.calls(), "call", "calls"),
        count(trial.clientCount(), "client", "clients"),
        Instant.ofEpochSecond(calls.get(0).atMicros() / MICROS_PER_SECOND),
        Instant.ofEpochSecond(calls.get(calls.size() - 1).atMicros() / MICROS_PER_SECOND));
    out.printf(
        "%s (%.1f %%) of %s would have been denied, at a cost of %,d%n",
        count(trial.denied(), "call", "calls"),
        100.0 * trial.denied() / trial.calls(),
        count(limited.size(), "client", "clients"),
        trial.deniedCost());
    if (trial.unmatched() > 0) {
      out.printf(
          "%s no policy%n",
          trial.unmatched() == 1
              ? "1 call matches"
              : String.format("%,d calls match", trial.unmatched()));
    }
    out.printf("%n%-30s %12s%n", "policy", "denied");
    trial
        .denialsByPolicy()
        .forEach((policy, denied) -> out.printf("%-30s %,12d%n", policy, denied));
    trial.withoutSay().forEach((policy, why) -> out.printf("'%s' %s%n", policy, why));
    if (!limited.isEmpty()) {
      out.printf(
          "%n%-30s %12s %12s   %-20s   %s%n", "client", "calls", "denied", "first", "mostly by");
      limited.stream()
          .limit(SHOWN_CLIENTS)
          .forEach(
              client ->
                  out.printf(
                      "%-30s %,12d %,12d   %-20s   %s%n",
                      client.client(),
                      client.calls(),
                      client.denied(),
                      client.firstDenied(),
                      client.policy()));
      if (limited.size() > SHOWN_CLIENTS) {
        out.printf("and %,d more clients%n", limited.size() - SHOWN_CLIENTS);
      }
    }
  }
}
