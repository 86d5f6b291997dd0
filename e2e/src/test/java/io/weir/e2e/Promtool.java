// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.testing.Await;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Prometheus' own tool for rules, where this machine has it. */
final class Promtool {
  private Promtool() {}

  /**
   * Runs it; it must end with 0. A machine without it skips the test.
   *
   * @param folder where its output is kept
   */
  static void run(Path folder, String... arguments) throws Exception {
    assumeTrue(
        isInstalled(),
        "promtool is not on the PATH; it comes with Prometheus (Debian: apt install prometheus)");
    List<String> command = new ArrayList<>(List.of("promtool"));
    command.addAll(List.of(arguments));
    Path output = Files.createTempFile(folder, "promtool-", ".out");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(
          process.waitFor(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS), "promtool does not end");
      assertEquals(0, process.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
    } finally {
      process.destroyForcibly();
    }
  }

  static boolean isInstalled() {
    String path = System.getenv().getOrDefault("PATH", "");
    return Stream.of(path.split(Pattern.quote(File.pathSeparator), -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "promtool")));
  }
}
