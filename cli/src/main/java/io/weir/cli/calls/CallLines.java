// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.calls;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Prints calls and settlements, one per line. Not thread-safe. */
final class CallLines {
  private static final String ROW = "%-24s %-7s %-16s %-24s %-12s %-16s %-11s %s";

  private final PrintWriter out;
  private final boolean asJson;

  /** The lines that are not printed yet. */
  private final List<String> held = new ArrayList<>();

  private long count;

  CallLines(PrintWriter out, boolean asJson) {
    this.out = out;
    this.asJson = asJson;
  }

  /** Adds a call or settlement, which {@link #print} prints. */
  void add(CallEvent call) {
    if (count == 0 && !asJson) {
      held.add(
          ROW.formatted(
              "TIME", "VERDICT", "COST", "ENDPOINT", "METER", "POLICY", "DECIDED BY", "ID"));
    }
    count++;
    held.add(asJson ? CallJson.format(call) : row(call));
  }

  private static String row(CallEvent call) {
    CallSettlement settlement = call.settlement();
    String policy = call.policy();
    return ROW.formatted(
            Instant.ofEpochMilli(call.happenedAtEpochMillis()),
            settlement != null ? "settled" : call.allowed() ? "allowed" : "denied",
            settlement == null ? call.cost() : call.cost() + " to " + settlement.actualCost(),
            call.endpoint(),
            call.meter(),
            policy == null ? "-" : policy,
            call.decidedBy().wireName(),
            call.id())
        .replaceAll("\\p{Cntrl}", "?"); // clients choose parts, and must not control the terminal
  }

  /** Returns the number of added lines that are not printed yet. */
  int held() {
    return held.size();
  }

  /** Prints the added lines. */
  void print() {
    held.forEach(out::println);
    held.clear();
  }

  /** Returns the number of calls and settlements. */
  long count() {
    return count;
  }

  /** Returns whether the reader of the output has closed it. */
  boolean isClosed() {
    // the writer reports errors of its stream only through checkError, not by exceptions
    return out.checkError() || System.out.checkError();
  }
}
