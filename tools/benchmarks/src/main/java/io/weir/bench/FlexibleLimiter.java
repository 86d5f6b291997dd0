// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** The npm package rate-limiter-flexible in a Node.js process, with the same redis-server. */
final class FlexibleLimiter {
  private static final String SCRIPT = "rate-limiter-flexible.cjs";
  private static final List<String> PACKAGES =
      List.of("rate-limiter-flexible@11.4.0", "ioredis@6.0.0");

  private FlexibleLimiter() {}

  /**
   * Measures the limiter and prints the result. If Node or npm is not on PATH, prints that the
   * limiter was not measured.
   */
  static void run(Path folder, int port, int keys, int inFlight, PrintStream out)
      throws IOException, InterruptedException {
    Path node = folder.resolve("node");
    try {
      if (Files.notExists(node)) {
        install(node);
        try (InputStream script =
            Objects.requireNonNull(FlexibleLimiter.class.getResourceAsStream(SCRIPT))) {
          Files.copy(script, node.resolve(SCRIPT));
        }
      }
      print(
          start(
              node,
              "node",
              SCRIPT,
              Integer.toString(port),
              Integer.toString(keys),
              Integer.toString(inFlight)),
          out);
    } catch (IOException missing) {
      out.println("rate-limiter-flexible was not measured: " + missing.getMessage());
    }
  }

  /**
   * Installs the npm packages into a new folder.
   *
   * @throws IOException if npm is not on PATH or fails
   */
  static void install(Path folder) throws IOException, InterruptedException {
    Files.createDirectories(folder);
    print(
        start(folder, "npm", "install", "--silent", "--no-audit", PACKAGES.get(0), PACKAGES.get(1)),
        System.out);
  }

  private static Process start(Path folder, String... command) throws IOException {
    return new ProcessBuilder(command)
        .directory(new File(folder.toString()))
        .redirectErrorStream(true)
        .start();
  }

  private static void print(Process process, PrintStream out)
      throws IOException, InterruptedException {
    String text =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    if (process.waitFor() != 0) {
      throw new IOException(text);
    }
    if (!text.isEmpty() && !text.startsWith("added")) {
      out.println(text);
    }
  }
}
