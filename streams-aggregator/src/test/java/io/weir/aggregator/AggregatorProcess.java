// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.testing.ChildJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * An aggregator in a separate JVM, which a test can kill, stop and suspend. Not safe for threads.
 */
final class AggregatorProcess implements AutoCloseable {
  private final Map<String, String> environment;
  private final Path log;
  private Process process;

  AggregatorProcess(Map<String, String> environment, Path log) throws IOException {
    this.environment = Map.copyOf(environment);
    this.log = log;
    this.process = launch();
  }

  private Process launch() throws IOException {
    ProcessBuilder builder = new ProcessBuilder(ChildJvm.command("256m", AggregatorMain.class));
    builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_"));
    builder.environment().putAll(environment);
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
        .start();
  }

  /** SIGKILL. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Returns whether it has not ended. */
  boolean isAlive() {
    return process.isAlive();
  }

  /** SIGTERM, and waits for the end. */
  void terminate() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  /** SIGSTOP: it stands still, its connections stay. */
  void pause() throws IOException, InterruptedException {
    signal("STOP");
  }

  /** SIGCONT. */
  void resume() throws IOException, InterruptedException {
    signal("CONT");
  }

  /** Limits how many files it may have open; those that are open stay open. */
  void limitFiles(int most) throws IOException, InterruptedException {
    int status =
        new ProcessBuilder(
                "prlimit", "--pid", Long.toString(process.pid()), "--nofile=" + most + ":")
            .start()
            .waitFor();
    if (status != 0) {
      throw new IOException("prlimit ended with " + status);
    }
  }

  private void signal(String name) throws IOException, InterruptedException {
    int status =
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    if (status != 0) {
      throw new IOException("kill -" + name + " ended with " + status);
    }
  }

  /** Starts it again over its folder; it must have ended. */
  void restart() throws IOException {
    process = launch();
  }

  /** SIGKILL, and waits for the end: what comes after it has the broker for itself. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
