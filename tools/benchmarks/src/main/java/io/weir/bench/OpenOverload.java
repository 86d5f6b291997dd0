// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.ingest.Ingest;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Measures {@code POST /v1/check} with an open loop, at rates below and above the rate of a closed
 * loop. The benchmark compares the default bound on calls in progress, a tenth of this bound, the
 * adaptive bound, and shedding by queue delay. The load generator is a separate process, see {@link
 * OpenLoop}.
 */
final class OpenOverload {
  private static final List<Double> LOADS = List.of(0.5, 0.7, 1.0, 1.5);
  private static final int ROUNDS = 2;
  private static final int CLOSED_CONNECTIONS = 64;
  private static final int OPEN_CONNECTIONS = 4_000;
  private static final Pattern SERVED = Pattern.compile("served_per_s=(\\d+)");

  private final Duration length;
  private final PrintStream out;

  OpenOverload(Duration length, PrintStream out) {
    this.length = length;
    this.out = out;
  }

  private static Map<String, Map<String, String>> ways() {
    Map<String, Map<String, String>> ways = new LinkedHashMap<>();
    ways.put("bound", Map.of());
    ways.put("bound-200", Map.of("WEIR_MAX_CALLS_UNDER_WAY", "200"));
    ways.put("adaptive", Map.of("WEIR_ADAPTIVE_BOUND", "on"));
    ways.put("delay", Map.of("WEIR_QUEUE_DELAY_TARGET", "PT0.01S"));
    return ways;
  }

  void run(Path folder) throws IOException, InterruptedException, TopicAdminException {
    try (Ground ground = OverloadBenchmark.ground(folder)) {
      double capacity = 0;
      for (int round = 1; round <= ROUNDS; round++) {
        for (var way : ways().entrySet()) {
          String name = way.getKey().replace('+', '-') + "-" + round;
          capacity = measure(ground, name, way, capacity);
        }
      }
    }
  }

  /**
   * Measures one configuration. Returns the rate of the closed loop with the first configuration,
   * as the capacity of a node.
   */
  private double measure(
      Ground ground, String name, Map.Entry<String, Map<String, String>> way, double known)
      throws IOException, InterruptedException {
    double capacity = known;
    try (Ingest ingest = ground.node(name, way.getValue())) {
      if (capacity == 0) {
        load(ingest.httpPort(), 0, CLOSED_CONNECTIONS);
        load(ingest.httpPort(), 0, CLOSED_CONNECTIONS);
      }
      String closed = load(ingest.httpPort(), 0, CLOSED_CONNECTIONS);
      print(way.getKey(), "closed loop", closed);
      if (capacity == 0) {
        capacity = served(closed);
      }
      for (double load : LOADS) {
        print(
            way.getKey(),
            String.format("%.1f x %,.0f/s", load, capacity),
            load(ingest.httpPort(), load * capacity, OPEN_CONNECTIONS));
      }
      DecidedByCache.require("http://127.0.0.1:" + ingest.httpPort());
    }
    return capacity;
  }

  private void print(String way, String load, String figures) {
    out.printf(
        "%-12s %-16s %s load_average=%.1f%n",
        way, load, figures, ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    out.flush();
  }

  private static double served(String figures) {
    Matcher matcher = SERVED.matcher(figures);
    if (!matcher.find()) {
      throw new IllegalStateException("the load said: " + figures);
    }
    return Double.parseDouble(matcher.group(1));
  }

  private String load(int port, double callsPerSecond, int connections)
      throws IOException, InterruptedException {
    return OpenLoop.inAProcess(port, callsPerSecond, length, connections);
  }
}
