// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.simulate.AlgorithmRun.Figures;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The well-known comparison at 100 calls a minute, and the figures by which it is made. */
final class AlgorithmRunTest {
  private static final long LIMIT = 100;
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final long MINUTE_MICROS = 60_000_000;

  private record Compared(Map<String, Figures> figures) {
    Figures of(String algorithm) {
      return Objects.requireNonNull(figures.get(algorithm));
    }
  }

  private static Compared compare(TrafficShape shape) {
    return compare(shape.calls(LIMIT, MINUTE_MICROS, 30, 1));
  }

  private static Compared compare(List<SimulatedCall> calls) {
    Map<String, Figures> figures = new HashMap<>();
    for (SimulatedAlgorithm algorithm :
        SimulatedAlgorithm.ofNames(SimulatedAlgorithm.DEFAULT, LIMIT, MINUTE)) {
      AlgorithmRun run = new AlgorithmRun(algorithm, LIMIT, MINUTE_MICROS, null);
      calls.forEach(run::decide);
      figures.put(algorithm.name(), run.figures());
    }
    return new Compared(figures);
  }

  @Test
  void fixedWindow_letsTwiceThrough_atTheEdgeOfTheMinute() {
    Compared edge = compare(TrafficShape.EDGE);

    assertEquals(2 * LIMIT, edge.of("fixed-window").worstWindow());
    assertEquals(0, edge.of("fixed-window").wronglyDenied());
    assertEquals(edge.of("fixed-window").admitted() / 2, edge.of("fixed-window").wronglyAdmitted());
  }

  /** Regression: the traffic missed the boundaries of windows that no day is a multiple of. */
  @Test
  void edge_isAtTheBoundary_ofWindowsOfAnyLength() {
    for (Duration window :
        List.of(Duration.ofHours(5), Duration.ofMinutes(13), Duration.ofSeconds(17))) {
      long micros = window.toSeconds() * 1_000_000;
      List<SimulatedCall> calls = TrafficShape.EDGE.calls(LIMIT, micros, 30, 1);
      AlgorithmRun run =
          new AlgorithmRun(
              SimulatedAlgorithm.ofNames("fixed-window", LIMIT, window).get(0),
              LIMIT,
              micros,
              null);
      calls.forEach(run::decide);
      assertEquals(2 * LIMIT, run.figures().worstWindow(), window.toString());
      assertEquals(20 * LIMIT, calls.size(), window.toString());
    }
  }

  @Test
  void exactWindow_isNeverWrong_whateverTheTraffic() {
    for (TrafficShape shape : TrafficShape.values()) {
      Figures exact = compare(shape).of("sliding-log");
      assertEquals(0, exact.wronglyAdmitted(), shape.toString());
      assertEquals(0, exact.wronglyDenied(), shape.toString());
      assertTrue(exact.worstWindow() <= LIMIT, shape.toString());
      assertEquals(0, exact.meanError(), shape.toString());
    }
  }

  @Test
  void weightedWindows_followTheExactOne_andSubWindowsAreCloser() {
    for (TrafficShape shape : TrafficShape.values()) {
      Compared figures = compare(shape);
      double two = figures.of("sliding-window").meanError();
      double five = figures.of("sliding-window:4").meanError();
      assertTrue(five < two + 0.001, shape + ": " + five + ", " + two);
      assertTrue(two < 0.13, shape + ": " + two);
      assertTrue(figures.of("sliding-window").worstWindow() < 1.15 * LIMIT, shape.toString());
      assertTrue(figures.of("sliding-window:4").worstWindow() <= 1.07 * LIMIT, shape.toString());
    }
  }

  @Test
  void tokenBucket_isBoundedByCapacityAndRate() {
    for (TrafficShape shape : TrafficShape.values()) {
      assertTrue(compare(shape).of("token-bucket").worstWindow() <= 2 * LIMIT, shape.toString());
    }
    assertTrue(compare(TrafficShape.ON_OFF).of("token-bucket").worstWindow() > 1.9 * LIMIT);
  }

  @Test
  void algorithmsPage_tables_holdTheFiguresOfSimulate() throws IOException {
    List<String> page = Files.readAllLines(Checkout.file("docs/algorithms.md"));
    List<String> rows = page.stream().filter(line -> line.startsWith("| `")).toList();
    List<String> expected = new ArrayList<>();
    for (TrafficShape shape : List.of(TrafficShape.EDGE, TrafficShape.POISSON)) {
      Compared compared = compare(shape.calls(LIMIT, MINUTE_MICROS, 30, 1));
      for (SimulatedAlgorithm each :
          SimulatedAlgorithm.ofNames(SimulatedAlgorithm.DEFAULT, LIMIT, MINUTE)) {
        Figures of = compared.of(each.name());
        expected.add(
            String.format(
                Locale.ROOT,
                "%s | %,d | %,d | %,d | %d | %.1f %% |",
                each.name(),
                of.admitted(),
                of.wronglyAdmitted(),
                of.wronglyDenied(),
                of.worstWindow(),
                100 * of.meanError()));
      }
    }

    // a row names the algorithm, and may describe it in its first cell
    assertEquals(
        expected,
        rows.stream().map(row -> row.replaceFirst("^\\| `([^`]+)`[^|]*\\|", "$1 |")).toList());
  }

  @Test
  void callsOfSeveralClients_haveAWindowEach() {
    List<SimulatedCall> calls = new ArrayList<>();
    for (int i = 0; i < 150; i++) {
      calls.add(new SimulatedCall(1_000_000 + i, "a", "-"));
      calls.add(new SimulatedCall(1_000_000 + i, "b", "-"));
    }
    Figures exact = compare(calls).of("sliding-log");

    assertEquals(300, exact.calls());
    assertEquals(200, exact.admitted());
    assertEquals(100, exact.worstWindow());
  }

  @Test
  void sameSeed_sameCalls_andOrdered() {
    for (TrafficShape shape : TrafficShape.values()) {
      List<SimulatedCall> calls = shape.calls(LIMIT, MINUTE_MICROS, 10, 7);
      assertEquals(calls, shape.calls(LIMIT, MINUTE_MICROS, 10, 7));
      for (int i = 1; i < calls.size(); i++) {
        assertTrue(calls.get(i - 1).atMicros() <= calls.get(i).atMicros(), shape.toString());
      }
    }
  }

  @Test
  void unknownAlgorithms_areNamed() {
    for (String wrong :
        List.of("", "gcra", "sliding-window:1", "sliding-window:1001", "token-bucket,")) {
      assertThrows(
          IllegalArgumentException.class, () -> SimulatedAlgorithm.ofNames(wrong, LIMIT, MINUTE));
    }
  }
}
