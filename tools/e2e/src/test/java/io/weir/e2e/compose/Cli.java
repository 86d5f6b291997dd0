// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.compose;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs commands of this machine to their end, in a folder and with variables. */
final class Cli {
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  private final Path folder;
  private final Map<String, String> variables;

  /**
   * How a command ended.
   *
   * @param status what it exited with
   * @param output what it wrote to its standard output
   * @param errors what it wrote to its error output
   */
  record Ended(int status, String output, String errors) {}

  Cli(Path folder, Map<String, String> variables) {
    this.folder = folder;
    this.variables = Map.copyOf(variables);
  }

  /**
   * Runs a command that must succeed.
   *
   * @return its standard output
   * @throws IllegalStateException when it exits with another status than 0
   */
  String run(List<String> command) throws IOException, InterruptedException {
    Ended ended = end(command);
    if (ended.status() != 0) {
      throw new IllegalStateException(
          String.join(" ", command)
              + " exits with "
              + ended.status()
              + ": "
              + ended.output()
              + ended.errors());
    }
    return ended.output();
  }

  /** Runs a command, however it ends. */
  Ended end(List<String> command) throws IOException, InterruptedException {
    File output = File.createTempFile("weir-cli-", ".out");
    File errors = File.createTempFile("weir-cli-", ".err");
    try {
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectInput(new File("/dev/null"))
              .redirectOutput(output)
              .redirectError(errors);
      builder.environment().putAll(variables);
      Process process = builder.start();
      if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IllegalStateException(String.join(" ", command) + " does not end");
      }
      return new Ended(
          process.exitValue(),
          Files.readString(output.toPath()),
          Files.readString(errors.toPath()));
    } finally {
      Files.delete(output.toPath());
      Files.delete(errors.toPath());
    }
  }
}
