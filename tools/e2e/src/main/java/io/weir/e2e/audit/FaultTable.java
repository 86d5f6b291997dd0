// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The table of results: one row for each fault, a row of sums, and the callers' errors by kind. */
final class FaultTable {
  private final Map<String, Row> rows = new TreeMap<>();
  private final Map<String, Long> errors = new TreeMap<>();

  private record Row(
      int times,
      long answered,
      long failed,
      long reports,
      long lost,
      long gone,
      long doubled,
      long misreported,
      long overAdmitted) {
    static final Row NONE = new Row(0, 0, 0, 0, 0, 0, 0, 0, 0);

    static Row of(Findings.OfRound round) {
      return new Row(
          1,
          round.answered(),
          round.failed(),
          round.reports(),
          round.lost(),
          round.gone(),
          round.doubled(),
          round.misreported(),
          round.overAdmitted());
    }

    Row plus(Row other) {
      return new Row(
          times + other.times,
          answered + other.answered,
          failed + other.failed,
          reports + other.reports,
          lost + other.lost,
          gone + other.gone,
          doubled + other.doubled,
          misreported + other.misreported,
          overAdmitted + other.overAdmitted);
    }
  }

  void add(String fault, Findings.OfRound round) {
    rows.merge(fault, Row.of(round), Row::plus);
    round.errors().forEach((error, count) -> errors.merge(error, count, Long::sum));
  }

  void print(PrintWriter out) {
    out.printf(
        "%-52s %5s %9s %7s %8s %6s %8s %12s %13s %5s%n",
        "fault",
        "times",
        "answered",
        "failed",
        "reports",
        "lost",
        "doubled",
        "misreported",
        "over-admitted",
        "gone");
    rows.forEach((name, row) -> print(out, name, row));
    print(out, "all", rows.values().stream().reduce(Row.NONE, Row::plus));
    out.println("tries without a verdict: " + errors);
  }

  private static void print(PrintWriter out, String name, Row row) {
    out.printf(
        Locale.ROOT,
        "%-52s %5d %9d %7d %8d %6d %8d %12d %13d %5d%n",
        name,
        row.times(),
        row.answered(),
        row.failed(),
        row.reports(),
        row.lost(),
        row.doubled(),
        row.misreported(),
        row.overAdmitted(),
        row.gone());
  }
}
