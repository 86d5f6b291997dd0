// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A comparison of algorithms with the same traffic. */
final class AlgorithmComparison {
  /** Number of points of each curve. */
  private static final int MOMENTS = 600;

  /** Maximum number of windows in a chart. */
  private static final int SHOWN_WINDOWS = 12;

  private static final long MICROS_PER_SECOND = 1_000_000;

  private final List<SimulatedCall> calls;
  private final long limit;
  private final Duration window;
  private final String title;

  /** The client with the most calls, which the charts show. */
  private final String busiest;

  private final List<AlgorithmRun> runs = new ArrayList<>();

  /**
   * Compares algorithms.
   *
   * @param calls at least one call, in order of time
   * @param limit number of calls allowed in a window
   * @param window length of a window in whole seconds
   * @param traffic description of the traffic
   * @param decided called after each decision of each algorithm
   */
  public AlgorithmComparison(
      List<SimulatedAlgorithm> algorithms,
      List<SimulatedCall> calls,
      long limit,
      Duration window,
      String traffic,
      Runnable decided) {
    this.calls = List.copyOf(calls);
    this.limit = limit;
    this.window = window;
    this.title = title(traffic);
    Map<String, Integer> byClient = new HashMap<>();
    calls.forEach(call -> byClient.merge(call.client(), 1, Integer::sum));
    this.busiest =
        byClient.entrySet().stream().max(Map.Entry.comparingByValue()).orElseThrow().getKey();
    for (SimulatedAlgorithm algorithm : algorithms) {
      AlgorithmRun run = new AlgorithmRun(algorithm, limit, windowMicros(), busiest);
      for (SimulatedCall call : this.calls) {
        run.decide(call);
        decided.run();
      }
      runs.add(run);
    }
  }

  private long windowMicros() {
    return window.toSeconds() * MICROS_PER_SECOND;
  }

  private String title(String traffic) {
    long clients = calls.stream().map(SimulatedCall::client).distinct().count();
    return String.format(
        "%,d calls of %s, limit %,d calls per window of %s: %s",
        calls.size(),
        clients == 1 ? "one client" : String.format("%,d clients", clients),
        limit,
        window,
        traffic);
  }

  /** Prints the traffic, and the results as a table. */
  public void print(PrintWriter out) {
    out.println(title);
    out.printf(
        "%-20s %12s %16s %14s %12s %10s%n",
        "algorithm",
        "admitted",
        "wrongly admitted",
        "wrongly denied",
        "worst window",
        "mean error");
    for (AlgorithmRun run : runs) {
      AlgorithmRun.Figures figures = run.figures();
      out.printf(
          "%-20s %,12d %,16d %,14d %,12d %8.1f %%%n",
          figures.algorithm().name(),
          figures.admitted(),
          figures.wronglyAdmitted(),
          figures.wronglyDenied(),
          figures.worstWindow(),
          100 * figures.meanError());
    }
    out.flush();
  }

  /** Returns the results as an HTML page, with charts of the client with the most calls. */
  public String page() {
    long windowMicros = windowMicros();
    List<Long> times =
        calls.stream()
            .filter(call -> call.client().equals(busiest))
            .map(SimulatedCall::atMicros)
            .toList();
    long first = times.get(0);
    long length = Math.min(times.get(times.size() - 1) - first, SHOWN_WINDOWS * windowMicros);
    List<Long> moments = new ArrayList<>(MOMENTS);
    for (int i = 0; i < MOMENTS; i++) {
      moments.add(first + length * i / (MOMENTS - 1));
    }
    AlgorithmRun exact =
        new AlgorithmRun(
            SimulatedAlgorithm.ofNames("sliding-log", limit, window).get(0),
            limit,
            windowMicros,
            busiest);
    times.forEach(at -> exact.decide(new SimulatedCall(at, busiest, "-")));
    List<ComparisonReport.Curve> curves = new ArrayList<>();
    for (AlgorithmRun run : runs) {
      curves.add(new ComparisonReport.Curve(run.figures(), run.curve(moments)));
    }
    boolean isAlone = times.size() == calls.size();
    String whose = isAlone ? "" : ". The charts show the client " + busiest;
    return new ComparisonReport("Rate limits compared", title + whose, limit)
        .page(
            curves,
            AlgorithmRun.counts(times, moments, windowMicros),
            exact.curve(moments),
            Duration.ofSeconds(length / MICROS_PER_SECOND).toString());
  }
}
