// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.WeirProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One process of the cluster that can be ended and started again over the same data, or held still.
 * Not safe for threads.
 */
final class Member implements AutoCloseable {
  private final String name;
  private final Starter starter;
  private @Nullable WeirProcess process;

  /** Starts the process and waits until it says that it is ready. */
  interface Starter {
    WeirProcess start() throws IOException, InterruptedException;
  }

  Member(String name, Starter starter) {
    this.name = name;
    this.starter = starter;
  }

  /** A {@code weir} command. */
  static Member command(
      String name, Path folder, Map<String, String> environment, String readyLine, String command) {
    return new Member(
        name,
        () -> {
          WeirProcess started = WeirProcess.start(folder, environment, command);
          started.awaitLine(readyLine);
          return started;
        });
  }

  String name() {
    return name;
  }

  void start() throws IOException, InterruptedException {
    if (process != null) {
      throw new IllegalStateException(name + " runs");
    }
    process = starter.start();
  }

  private WeirProcess running() {
    WeirProcess running = process;
    if (running == null) {
      throw new IllegalStateException(name + " does not run");
    }
    return running;
  }

  /** SIGKILL. */
  void kill() throws InterruptedException {
    running().kill();
    process = null;
  }

  /** SIGTERM, and waits for the end. */
  void terminate() throws InterruptedException {
    WeirProcess running = running();
    running.terminate();
    running.awaitExit();
    process = null;
  }

  /** SIGSTOP: it stands still, its connections stay. */
  void pause() throws IOException, InterruptedException {
    Signals.send("STOP", running().pid());
  }

  /** SIGCONT. */
  void resume() throws IOException, InterruptedException {
    Signals.send("CONT", running().pid());
  }

  /** Whether it was started and has not ended by itself. */
  boolean isRunning() {
    WeirProcess running = process;
    return running != null && running.isAlive();
  }

  /** What it has written to its error output. */
  String errors() {
    WeirProcess running = process;
    return running == null ? "" : running.errors();
  }

  @Override
  public void close() {
    WeirProcess running = process;
    if (running != null) {
      running.close();
    }
  }
}
