// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs benchmarks by name: {@code cache}, {@code algorithms}, {@code cluster}, {@code check},
 * {@code interfaces}, {@code calls}, {@code meter}, {@code scale}, {@code heal}, {@code overload},
 * {@code open-overload}, {@code verify}, {@code replay}, {@code watermark}. Without arguments, all
 * benchmarks run. The arguments after {@code scale} select its rows. The arguments {@code flame
 * RECORDING SVG} draw a flame graph of a recording.
 */
public final class Benchmarks {
  private static final Duration WARM_UP = Duration.ofSeconds(8);
  private static final Duration LENGTH = Duration.ofSeconds(10);
  private static final List<String> NAMES =
      List.of(
          ("cache algorithms cluster check interfaces calls meter scale heal overload open-overload"
                  + " verify replay watermark")
              .split(" "));
  private static final int METER_CALLS = 2_000_000;
  private static final int VERIFY_CALLS = 10_000_000;
  private static final int REPLAY_CALLS = 5_000_000;

  private Benchmarks() {}

  /** Runs benchmarks and prints the results. */
  public static void main(String[] arguments) throws Exception {
    List<String> names = arguments.length == 0 ? NAMES : List.of(arguments);
    PrintStream out = System.out;
    if (names.get(0).equals("flame")) {
      FlameGraph.draw(names.subList(1, names.size()), out);
      return;
    }
    List<String> options = List.of();
    if (names.get(0).equals("scale")) {
      options = names.subList(1, names.size());
      names = names.subList(0, 1);
    }
    out.printf(
        "JDK %s, %d cores, %s%n",
        Runtime.version(),
        Runtime.getRuntime().availableProcessors(),
        System.getProperty("os.name"));
    for (String name : names) {
      Path folder = Files.createTempDirectory("weir-bench-");
      try {
        out.printf("%n== %s%n", name);
        switch (name) {
          case "cache" -> new CacheBenchmark(WARM_UP, LENGTH, out).run(folder);
          case "algorithms" -> new AlgorithmBenchmark(out).run(folder);
          case "cluster" -> new ClusterBenchmark(out).run(folder);
          case "check" -> new CheckBenchmark(WARM_UP.multipliedBy(4), LENGTH, out).run(folder);
          case "interfaces" -> new InterfaceBenchmark(out).run(folder);
          case "calls" -> new CallsBenchmark(out).run();
          case "meter" -> new MeterBenchmark(METER_CALLS, out).run(folder);
          case "scale" -> new ScaleBenchmark(options, out).run(folder);
          case "heal" -> {
            new FlushComparison(out).run(folder);
            new HealingDelay(out).run(folder);
          }
          case "overload" -> new OverloadBenchmark(WARM_UP, LENGTH, out).run(folder);
          case "open-overload" -> new OpenOverload(LENGTH, out).run(folder);
          case "verify" -> new VerifyBenchmark(VERIFY_CALLS, out).run(folder);
          case "replay" -> new ReplayBenchmark(REPLAY_CALLS, out).run(folder);
          case "watermark" -> new WatermarkBenchmark(WARM_UP, LENGTH, out).run(folder);
          default ->
              throw new IllegalArgumentException(
                  "no benchmark '" + name + "'; there are " + String.join(", ", NAMES));
        }
      } finally {
        delete(folder);
      }
    }
    System.exit(0);
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }
}
