// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.limits.FixedWindow;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An algorithm with its limit of calls in a window. Immutable.
 *
 * @param name the name from the command line
 * @param words a description for display
 * @param start creates the algorithm for one client
 */
record SimulatedAlgorithm(String name, String words, Supplier<SimulatedLimiter> start) {
  /** The names of the available algorithms. */
  public static final String NAMES =
      "fixed-window, sliding-window (two windows, the older one weighted), sliding-window:N (N"
          + " sub-windows and a part of one more, 2 to 60), token-bucket, sliding-log (exact)";

  /** The algorithms that are compared by default. */
  public static final String DEFAULT =
      "sliding-log,fixed-window,sliding-window,sliding-window:4,token-bucket";

  private static final Pattern SUB_WINDOWS = Pattern.compile("sliding-window:(\\d{1,4})");

  /**
   * Returns the algorithms of a list, in order.
   *
   * @param names names separated by commas
   * @param window length of a window in whole seconds
   * @throws IllegalArgumentException if a name is unknown; the message has the name
   */
  public static List<SimulatedAlgorithm> ofNames(String names, long limit, Duration window) {
    List<SimulatedAlgorithm> algorithms = new ArrayList<>();
    for (String name : names.split(",", -1)) {
      algorithms.add(of(name.strip(), limit, window));
    }
    return algorithms;
  }

  private static SimulatedAlgorithm of(String name, long limit, Duration window) {
    long micros = window.toSeconds() * 1_000_000;
    switch (name) {
      case "sliding-log" -> {
        return new SimulatedAlgorithm(
            name,
            "exact: keeps the time of each call",
            () -> new ExactSlidingWindow(limit, micros));
      }
      case "sliding-window" -> {
        return new SimulatedAlgorithm(
            name,
            "two counters, the older one weighted",
            () -> new PolicyLimiter(new SlidingWindow(limit, window.toSeconds(), 1)));
      }
      case "fixed-window" -> {
        FixedWindow fixed =
            new FixedWindow(limit, window.toSeconds(), FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
        return new SimulatedAlgorithm(
            name, "one counter for each window", () -> new PolicyLimiter(fixed));
      }
      case "token-bucket" -> {
        TokenBucketLimit bucket = new TokenBucketLimit(limit, limit, micros);
        return new SimulatedAlgorithm(
            name, "a bucket that refills evenly over a window", () -> new PolicyLimiter(bucket));
      }
      default -> {
        Matcher sub = SUB_WINDOWS.matcher(name);
        int count = sub.matches() ? Integer.parseInt(sub.group(1)) : 0;
        if (count < 2 || count > SlidingWindow.MAX_SUB_WINDOWS) {
          throw new IllegalArgumentException(
              "unknown algorithm '" + name + "'; the algorithms are " + NAMES);
        }
        SlidingWindow sliding = new SlidingWindow(limit, window.toSeconds(), count);
        return new SimulatedAlgorithm(
            name,
            count + 1 + " counters of sub-windows, the oldest one weighted",
            () -> new PolicyLimiter(sliding));
      }
    }
  }
}
