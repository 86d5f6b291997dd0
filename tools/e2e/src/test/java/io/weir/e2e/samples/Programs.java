// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.e2e.WeirProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs the samples as programs. */
final class Programs {
  private final Path folder;
  private final String kafka;

  /**
   * Programs over a cluster.
   *
   * @param folder where standard errors are kept
   * @param kafka bootstrap servers, which the programs get as {@code WEIR_KAFKA}
   */
  Programs(Path folder, String kafka) {
    this.folder = folder;
    this.kafka = kafka;
  }

  /** What a program has left. */
  record Ended(int status, String output, String errors) {}

  /** A Python that has what the sample needs; without one the test is skipped. */
  String python() throws Exception {
    String needed = "import confluent_kafka, sqlite3, zoneinfo; zoneinfo.ZoneInfo('Asia/Kolkata')";
    Optional<String> found = Optional.empty();
    for (String candidate : List.of("python3", "/usr/bin/python3")) {
      if (found.isEmpty() && succeeds(candidate, "-c", needed)) {
        found = Optional.of(candidate);
      }
    }
    assumeTrue(
        found.isPresent(),
        "no Python 3.9 with confluent_kafka: apt-get install python3-confluent-kafka tzdata");
    return found.orElseThrow();
  }

  /** Runs a program to its end. */
  Ended run(List<String> command) throws Exception {
    return ended(WeirProcess.startProgram(folder, Map.of("WEIR_KAFKA", kafka), command));
  }

  /** Waits for the end of a program. */
  static Ended ended(WeirProcess started) throws Exception {
    try (WeirProcess process = started) {
      int status = process.awaitExit();
      return new Ended(status, String.join("\n", process.output()), process.errors());
    }
  }

  /** Returns whether a program is installed and ends with status 0. */
  boolean succeeds(String... command) throws Exception {
    try {
      return run(List.of(command)).status() == 0;
    } catch (IOException notInstalled) {
      return false;
    }
  }
}
