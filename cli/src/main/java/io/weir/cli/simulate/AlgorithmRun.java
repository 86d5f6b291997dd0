// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One algorithm over a traffic, judged by the exact sliding window: of the calls that the algorithm
 * itself has admitted, a window holds at most the limit. Not thread-safe.
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

  /** The algorithm, and what it has admitted, of one client. */
  private static final class OfClient {
    private final SimulatedLimiter limiter;
    private final SlidingLog truth;

    OfClient(SimulatedLimiter limiter, SlidingLog truth) {
      this.limiter = limiter;
      this.truth = truth;
    }
  }

  /**
   * What an algorithm did. Immutable.
   *
   * @param algorithm the algorithm
   * @param calls how many calls it decided
   * @param admitted how many of them it admitted
   * @param wronglyAdmitted how many it admitted though it had admitted the limit within the window
   *     before
   * @param wronglyDenied how many it denied though it had admitted fewer than the limit within the
   *     window before
   * @param worstWindow the most calls that it admitted within any window's length
   * @param meanError the mean, over all calls, of the difference between what it took for used and
   *     what was, as a part of the limit
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
   * Begins a run.
   *
   * @param charted the client whose admitted calls are remembered for a curve; null for none
   */
  AlgorithmRun(
      SimulatedAlgorithm algorithm, long limit, long windowMicros, @Nullable String charted) {
    this.charted = charted;
    this.algorithm = algorithm;
    this.limit = limit;
    this.windowMicros = windowMicros;
  }

  /** Decides the next call; calls come in the order of their times. */
  void decide(SimulatedCall call) {
    OfClient client =
        clients.computeIfAbsent(
            call.client(),
            name -> new OfClient(algorithm.start().get(), new SlidingLog(limit, windowMicros)));
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
   * Returns how many calls of the charted client were admitted within the window before each of
   * some moments.
   *
   * @param moments in ascending order
   */
  List<Integer> curve(List<Long> moments) {
    return counts(admittedOfCharted, moments, windowMicros);
  }

  /**
   * Returns how many times lie within the window before each moment.
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
