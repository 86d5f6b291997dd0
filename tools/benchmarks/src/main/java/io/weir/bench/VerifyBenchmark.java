// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.cli.WeirCommand;
import io.weir.cli.run.LedgerListing;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Measures the speed and the memory use of {@code weir verify} in a separate process with a small
 * heap. A real aggregator has counted the calls.
 */
final class VerifyBenchmark {
  private static final String HEAP = "512m";
  private static final int WINDOWS = 100;
  private static final int CALLERS_ID_EVERY = 4;
  private static final Backlog.Shape SHAPE = Backlog.Shape.ofOneNode(CALLERS_ID_EVERY);

  private final int calls;
  private final PrintStream out;

  VerifyBenchmark(int calls, PrintStream out) {
    this.calls = calls;
    this.out = out;
  }

  void run(Path folder) throws Exception {
    try (Ground ground = Ground.start(folder, 1);
        Backlog backlog = new Backlog(ground.kafka(), SHAPE)) {
      long from = backlog.windowStartEpochMillis();
      backlog.write(calls, WINDOWS);
      try (Aggregator aggregator = ground.aggregator(MeterBenchmark.SETTINGS)) {
        out.println("counting, reports are served on " + aggregator.reportsPort());
        while (LedgerListing.read(KafkaConnection.to(ground.kafka()), 0).allowed() < calls) {
          TimeUnit.SECONDS.sleep(2);
        }
      }
      verify(ground, folder, from, backlog.windowStartEpochMillis());
    }
  }

  private void verify(Ground ground, Path folder, long from, long to)
      throws IOException, InterruptedException {
    Path scratch = Files.createDirectories(folder.resolve("scratch"));
    ProcessBuilder command =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx" + HEAP,
            "-cp",
            System.getProperty("java.class.path"),
            WeirCommand.class.getName(),
            "verify",
            "--from",
            Instant.ofEpochMilli(from).toString(),
            "--to",
            Instant.ofEpochMilli(to).toString(),
            "--scratch",
            scratch.toString());
    command.environment().put("WEIR_KAFKA", ground.kafka());
    command.environment().put("WEIR_WINDOW", "PT1M");
    long begun = System.nanoTime();
    Process process =
        command.redirectOutput(folder.resolve("said").toFile()).redirectErrorStream(true).start();
    long peakKilobytes = 0;
    long scratchBytes = 0;
    while (!process.waitFor(500, TimeUnit.MILLISECONDS)) {
      peakKilobytes = Math.max(peakKilobytes, peakKilobytes(process.pid()));
      scratchBytes = Math.max(scratchBytes, bytes(scratch));
    }
    double seconds = (System.nanoTime() - begun) / 1e9;
    out.printf(
        "weir verify, -Xmx%s, %,d calls of %,d clients in %d windows, 1 id in %d of the caller:"
            + " exit %d, %.1f s, %,.0f calls/s, peak RSS %,d MB, on disk %,d MB%n",
        HEAP,
        calls,
        SHAPE.clients(),
        WINDOWS,
        CALLERS_ID_EVERY,
        process.exitValue(),
        seconds,
        calls / seconds,
        peakKilobytes / 1_024,
        scratchBytes >> 20);
    try (Stream<String> said = Files.lines(folder.resolve("said"))) {
      said.filter(line -> !line.contains("verify ")).forEach(out::println);
    }
  }

  /**
   * Returns the maximum resident set of a process, as the kernel reports it; 0 if the process has
   * ended.
   */
  private static long peakKilobytes(long pid) {
    try {
      return Files.readAllLines(Path.of("/proc/" + pid + "/status")).stream()
          .filter(line -> line.startsWith("VmHWM:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElse(0);
    } catch (IOException ended) {
      return 0;
    }
  }

  private static long bytes(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      return paths.mapToLong(path -> path.toFile().length()).sum();
    } catch (UncheckedIOException changed) {
      return 0;
    }
  }
}
