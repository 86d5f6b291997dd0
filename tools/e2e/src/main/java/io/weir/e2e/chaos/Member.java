// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.WeirProcess;
import io.weir.testing.Await;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * One process of the cluster. A test can suspend the process, or start it again with the same data.
 * Only one thread at a time may start and end the process.
 */
final class Member implements AutoCloseable {
  private final String name;
  private final Launcher launcher;
  private final String readyLine;
  private Map<String, String> overrides = Map.of();
  private volatile @Nullable WeirProcess process;

  /** Starts the process. */
  interface Launcher {
    /**
     * Starts the process without waiting until it is ready.
     *
     * @param overrides environment variables that replace the default variables
     */
    WeirProcess launch(Map<String, String> overrides) throws IOException;
  }

  Member(String name, Launcher launcher, String readyLine) {
    this.name = name;
    this.launcher = launcher;
    this.readyLine = readyLine;
  }

  /** Returns a member that runs a {@code weir} command. */
  static Member command(
      String name, Path folder, Map<String, String> environment, String readyLine, String command) {
    return new Member(
        name,
        overrides -> {
          Map<String, String> variables = new HashMap<>(environment);
          variables.putAll(overrides);
          return WeirProcess.start(folder, variables, command);
        },
        readyLine);
  }

  String name() {
    return name;
  }

  /** Sets environment variables that replace the default variables from the next start on. */
  void override(Map<String, String> variables) {
    overrides = Map.copyOf(variables);
  }

  /**
   * Starts the process, and waits until it reports that it is ready. If the process exits earlier
   * because a dependency is unavailable, this method starts it again for a while, as a supervisor
   * does.
   */
  void start() throws IOException, InterruptedException {
    if (process != null) {
      throw new IllegalStateException(name + " runs");
    }
    long deadline = System.nanoTime() + Await.TIMEOUT.toNanos();
    while (true) {
      WeirProcess started = launcher.launch(overrides);
      process = started;
      try {
        started.awaitLine(readyLine);
        return;
      } catch (IllegalStateException notReady) {
        if (started.isAlive() || System.nanoTime() - deadline > 0) {
          throw notReady;
        }
      }
    }
  }

  /** Starts several members at once, and waits until all are ready. */
  static void startAll(List<Member> members) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(members.size());
    try {
      List<Future<?>> starting = new ArrayList<>();
      for (Member member : members) {
        starting.add(
            threads.submit(
                () -> {
                  member.start();
                  return true;
                }));
      }
      for (Future<?> start : starting) {
        start.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private WeirProcess running() {
    WeirProcess running = process;
    if (running == null) {
      throw new IllegalStateException(name + " does not run");
    }
    return running;
  }

  /** Sends SIGKILL. */
  void kill() throws InterruptedException {
    running().kill();
    process = null;
  }

  /** Sends SIGTERM, and waits for the end of the process. */
  void terminate() throws InterruptedException {
    WeirProcess running = running();
    running.terminate();
    running.awaitExit();
    process = null;
  }

  /** Sends SIGSTOP, which suspends the process and keeps its connections open. */
  void pause() throws IOException, InterruptedException {
    Signals.send("STOP", running().pid());
  }

  /** Sends SIGCONT. */
  void resume() throws IOException, InterruptedException {
    Signals.send("CONT", running().pid());
  }

  /**
   * Sends the process a line, and waits for the line that acknowledges it.
   *
   * @param line the line that the process receives on its standard input
   * @param heard beginning of the line that acknowledges it
   */
  void tell(String line, String heard) throws IOException, InterruptedException {
    WeirProcess running = running();
    running.send(line);
    running.awaitLine(heard);
  }

  /** Returns whether the process was started and has not ended by itself. */
  boolean isRunning() {
    WeirProcess running = process;
    return running != null && running.isAlive();
  }

  /** Returns the text that the process has written to standard error. */
  String errors() {
    WeirProcess running = process;
    return running == null ? "" : running.errors();
  }

  /** Sends SIGKILL if the process is running. */
  void end() {
    WeirProcess running = process;
    try {
      if (running != null) {
        running.kill();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    WeirProcess running = process;
    if (running != null) {
      running.close();
    }
  }
}
