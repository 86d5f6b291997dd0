// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Runs one algorithm with traffic, and compares each decision with the exact sliding window of the
 * calls that the algorithm has admitted. Not thread-safe.
 */
final class AlgorithmRun {
  private final SimulatedAlgorithm algorithm;
  private final long limit;
  private final long windowMicros;
  private final @Nullable String charted;
  private final List<Long> admittedOfCharted = new ArrayList<>();
  private final Map<String, OfClient> clients = new HashMap<>();
  private long calls;
  private long admitted;
  private long wronglyAdmitted;
  private long wronglyDenied;
  private int worstWindow;
  private double errors;

  /** The algorithm for one client, and the calls that it admitted. */
  private record OfClient(SimulatedLimiter limiter, ExactSlidingWindow truth) {}

  /**
   * The result of an algorithm. Immutable.
   *
   * @param algorithm the algorithm
   * @param calls number of decided calls
   * @param admitted number of admitted calls
   * @param wronglyAdmitted number of calls that the algorithm admitted after admitting at least the
   *     limit within the previous window
   * @param wronglyDenied number of calls that the algorithm denied after admitting fewer calls than
   *     the limit within the previous window
   * @param worstWindow maximum number of calls admitted within a window's length
   * @param meanError mean error of the algorithm's count, over all calls, as a fraction of the
   *     limit
   */
  record Figures(
      SimulatedAlgorithm algorithm,
      long calls,
      long admitted,
      long wronglyAdmitted,
      long wronglyDenied,
      int worstWindow,
      double meanError) {}

  /**
   * Creates a run.
   *
   * @param charted the client whose admitted calls are kept for a chart; null for none
   */
  AlgorithmRun(
      SimulatedAlgorithm algorithm, long limit, long windowMicros, @Nullable String charted) {
    this.charted = charted;
    this.algorithm = algorithm;
    this.limit = limit;
    this.windowMicros = windowMicros;
  }

  /** Decides the next call. Calls must come in order of time. */
  void decide(SimulatedCall call) {
    OfClient client =
        clients.computeIfAbsent(
            call.client(),
            name ->
                new OfClient(algorithm.start().get(), new ExactSlidingWindow(limit, windowMicros)));
    long at = call.atMicros();
    int before = client.truth.count(at);
    errors += Math.abs(client.limiter.used(at) - before);
    calls++;
    if (client.limiter.take(at)) {
      admitted++;
      wronglyAdmitted += before >= limit ? 1 : 0;
      client.truth.note(at);
      if (call.client().equals(charted)) {
        admittedOfCharted.add(at);
      }
      worstWindow = Math.max(worstWindow, before + 1);
    } else {
      wronglyDenied += before < limit ? 1 : 0;
    }
  }

  Figures figures() {
    return new Figures(
        algorithm,
        calls,
        admitted,
        wronglyAdmitted,
        wronglyDenied,
        worstWindow,
        calls == 0 ? 0 : errors / calls / limit);
  }

  /**
   * Returns, for each moment, the number of calls of the charted client that were admitted within
   * the previous window.
   *
   * @param moments in ascending order
   */
  List<Integer> curve(List<Long> moments) {
    return counts(admittedOfCharted, moments, windowMicros);
  }

  /**
   * Returns, for each moment, how many of the given times are within the previous window.
   *
   * @param times in ascending order
   * @param moments in ascending order
   */
  static List<Integer> counts(List<Long> times, List<Long> moments, long windowMicros) {
    List<Integer> counts = new ArrayList<>(moments.size());
    int from = 0;
    int to = 0;
    for (long moment : moments) {
      while (to < times.size() && times.get(to) <= moment) {
        to++;
      }
      while (from < to && times.get(from) <= moment - windowMicros) {
        from++;
      }
      counts.add(to - from);
    }
    return counts;
  }
}
