// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The outcome of a run of rounds.
 *
 * @param names names of the rounds, in order; several rounds may have the same name
 * @param findings the findings of the audit
 */
public record Outcome(List<String> names, Findings findings) {
  public Outcome {
    names = List.copyOf(names);
  }

  /** Returns whether no call was lost, duplicated or wrongly reported. */
  public boolean isRight() {
    return findings.isRight();
  }

  /** Returns a description of every difference, and further remarks. */
  public List<String> details() {
    List<String> details = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      Findings.OfRound of = findings.rounds().get(i);
      for (String detail : of.details()) {
        details.add("round " + i + " (" + names.get(i) + of.notes() + "): " + detail);
      }
    }
    return details;
  }

  /** Prints the table with a row for each name, and the sums. */
  public void print(PrintWriter out) {
    FaultTable table = new FaultTable();
    for (int i = 0; i < names.size(); i++) {
      table.add(names.get(i), findings.rounds().get(i));
    }
    table.print(out);
    out.printf(
        Locale.ROOT,
        "quarantined records: %d; weir verify: %s%n",
        findings.quarantined(),
        findings.isVerified() ? "0 differences" : "DIFFERS");
    out.flush();
  }
}
