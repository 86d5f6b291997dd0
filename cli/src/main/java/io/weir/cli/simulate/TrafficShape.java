// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Shapes of traffic: how the calls of one client are distributed over time. */
enum TrafficShape {
  STEADY("evenly, 1.2 times the limit") {
    @Override
    void fill(Calls calls) {
      calls.evenly(0, calls.length, 1.2);
    }
  },

  /** Each burst lasts a sixtieth of a window. */
  BURSTY("bursts of 0.6 times the limit, every 0.35 windows") {
    @Override
    void fill(Calls calls) {
      for (double at = 0; at < calls.length; at += 0.35) {
        calls.evenly(at, at + 1.0 / 60, 0.6 * 60);
      }
    }
  },

  EDGE(
      "the limit's number of calls just before the end of a window, again just after it, then"
          + " a pause") {
    @Override
    void fill(Calls calls) {
      for (double boundary = 1; boundary < calls.length; boundary += 3) {
        calls.evenly(boundary - 1.0 / 12, boundary + 1.0 / 12, 12);
      }
    }
  },

  ON_OFF("twice the limit for 1.5 windows, then no calls for 1.5 windows") {
    @Override
    void fill(Calls calls) {
      for (double at = 0; at < calls.length; at += 3) {
        calls.evenly(at, at + 1.5, 2);
      }
    }
  },

  /** The times are a Poisson process. */
  POISSON("at random, 1.1 times the limit") {
    @Override
    void fill(Calls calls) {
      for (double at = calls.pause(1.1); at < calls.length; at += calls.pause(1.1)) {
        calls.add(at);
      }
    }
  };

  /** The simulation begins at the first window boundary after this time. */
  static final Instant BEGIN = Instant.parse("2026-01-01T00:00:00Z");

  private static final String CLIENT = "client";
  private static final String ENDPOINT = "-";

  private final String words;

  TrafficShape(String words) {
    this.words = words;
  }

  /** Returns a description for display. */
  public String words() {
    return words;
  }

  abstract void fill(Calls calls);

  /**
   * Generates the calls of one client.
   *
   * @param limit number of calls allowed in a window
   * @param windowMicros length of a window
   * @param windows length of the traffic
   * @param seed seed of the random generator; the same seed generates the same calls
   * @return the calls in order of time
   */
  public List<SimulatedCall> calls(long limit, long windowMicros, double windows, long seed) {
    Calls calls = new Calls(limit, windowMicros, windows, new Random(seed));
    fill(calls);
    return calls.made;
  }

  /** Collects the generated calls. A time is the number of windows since the beginning. */
  static final class Calls {
    private final long limit;
    private final long windowMicros;
    private final long beginMicros;
    final double length;
    private final Random random;
    private final List<SimulatedCall> made = new ArrayList<>();

    private Calls(long limit, long windowMicros, double length, Random random) {
      this.limit = limit;
      this.windowMicros = windowMicros;
      this.beginMicros = (BEGIN.getEpochSecond() * 1_000_000 / windowMicros + 1) * windowMicros;
      this.length = length;
      this.random = random;
    }

    /** Generates calls at equal intervals. */
    void evenly(double from, double to, double limitsAWindow) {
      double pause = 1 / (limit * limitsAWindow);
      long count = Math.round((to - from) / pause);
      for (long i = 0; i < count && from + i * pause < length; i++) {
        add(from + i * pause);
      }
    }

    /** Returns a random time between two calls of a Poisson process. */
    double pause(double limitsAWindow) {
      return -Math.log(1 - random.nextDouble()) / (limit * limitsAWindow);
    }

    void add(double at) {
      long micros = beginMicros + Math.round(at * windowMicros);
      made.add(new SimulatedCall(micros, CLIENT, ENDPOINT));
    }
  }
}
