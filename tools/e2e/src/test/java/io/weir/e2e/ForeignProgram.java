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

/** A program of others that checks what we wrote, where this machine has it. */
public final class ForeignProgram {
  private ForeignProgram() {}

  /**
   * Runs it; it must end with 0. A machine without it skips the test.
   *
   * @param name its name on the PATH
   * @param origin where it comes from, for the reason of the skipped test
   * @param folder where its output is kept
   * @return what it printed
   */
  public static String run(String name, String origin, Path folder, String... arguments)
      throws Exception {
    assumeTrue(isInstalled(name), name + " is not on the PATH; it comes with " + origin);
    List<String> command = new ArrayList<>(List.of(name));
    command.addAll(List.of(arguments));
    Path output = Files.createTempFile(folder, name + "-", ".out");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertTrue(
          process.waitFor(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS),
          () -> name + " does not end");
      String printed = Files.readString(output, StandardCharsets.UTF_8);
      assertEquals(0, process.exitValue(), printed);
      return printed;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Returns whether a program is on the PATH. */
  public static boolean isInstalled(String name) {
    String path = System.getenv().getOrDefault("PATH", "");
    return Stream.of(path.split(Pattern.quote(File.pathSeparator), -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, name)));
  }
}
