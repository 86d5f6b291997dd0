// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * One {@code weir} command in a separate JVM. This object stores the command's output. Not
 * thread-safe.
 */
public final class WeirProcess implements AutoCloseable {
  private static final String HEAP = "768m";

  /** The main class of the commands. */
  public static final String COMMANDS = "io.weir.cli.WeirCommand";

  private final Process process;
  private final Path errors;
  private final List<String> output = new ArrayList<>();
  private final Thread reader;

  private WeirProcess(Process process, Path errors) {
    this.process = process;
    this.errors = errors;
    this.reader = new Thread(this::read, "weir-output");
    reader.setDaemon(true);
    reader.start();
  }

  /**
   * Starts a command.
   *
   * @param folder folder for its error output
   * @param environment environment variables of the command; the command does not inherit other
   *     variables that begin with {@code WEIR_}
   */
  public static WeirProcess start(Path folder, Map<String, String> environment, String... arguments)
      throws IOException {
    return startMain(folder, environment, COMMANDS, arguments);
  }

  /**
   * Starts a command in a JVM whose maximum heap is {@code heap}, in the format of {@code -Xmx}.
   */
  public static WeirProcess startSmall(
      Path folder, Map<String, String> environment, String heap, String... arguments)
      throws IOException {
    return startMain(
        folder,
        environment,
        List.of("-Xmx" + heap, "-XX:+ExitOnOutOfMemoryError"),
        COMMANDS,
        arguments);
  }

  /**
   * Starts a process that runs a main class with the class path of this process.
   *
   * @param folder folder for its error output
   * @param environment as in {@link #start}
   */
  public static WeirProcess startMain(
      Path folder, Map<String, String> environment, String mainClass, String... arguments)
      throws IOException {
    return startMain(folder, environment, List.of(), mainClass, arguments);
  }

  /**
   * Starts a process that runs a main class with JVM options, and with the class path of this
   * process.
   *
   * @param jvmOptions further JVM options, which have precedence over the default options
   */
  public static WeirProcess startMain(
      Path folder,
      Map<String, String> environment,
      List<String> jvmOptions,
      String mainClass,
      String... arguments)
      throws IOException {
    List<String> command = ChildJvm.command(HEAP, jvmOptions);
    command.add(mainClass);
    command.addAll(List.of(arguments));
    return launch(
        folder, environment, command, mainClass.substring(mainClass.lastIndexOf('.') + 1));
  }

  /**
   * Starts any program, such as a script.
   *
   * @param folder folder for its error output
   * @param environment as in {@link #start}
   */
  public static WeirProcess startProgram(
      Path folder, Map<String, String> environment, List<String> command) throws IOException {
    return launch(folder, environment, command, Path.of(command.get(0)).getFileName().toString());
  }

  private static WeirProcess launch(
      Path folder, Map<String, String> environment, List<String> command, String shortName)
      throws IOException {
    Path errors = Files.createTempFile(folder, shortName + "-", ".err");
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("WEIR_"));
    builder.environment().putAll(environment);
    return new WeirProcess(builder.start(), errors);
  }

  private void read() {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        synchronized (output) {
          output.add(line);
          output.notifyAll();
        }
      }
    } catch (IOException ended) {
      // reading from the pipe of a killed process may throw
      return;
    }
  }

  /**
   * Waits for an output line that begins with {@code beginning}, and returns the rest of the line.
   */
  public String awaitLine(String beginning) throws InterruptedException {
    long deadline = System.nanoTime() + Await.TIMEOUT.toNanos();
    synchronized (output) {
      while (true) {
        for (String line : output) {
          if (line.startsWith(beginning)) {
            return line.substring(beginning.length()).strip();
          }
        }
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          printThreads();
        }
        if (left <= 0 || !process.isAlive()) {
          throw new IllegalStateException(
              "no line '" + beginning + "' in " + output + "; errors: " + errors());
        }
        output.wait(Math.min(200, Math.max(1, left / 1_000_000)));
      }
    }
  }

  /**
   * Prints the threads of the process. Callers use this method when the process does not reach the
   * expected state.
   */
  private void printThreads() throws InterruptedException {
    try {
      boolean printed =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                  Long.toString(process.pid()),
                  "Thread.print")
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.INHERIT)
              .start()
              .waitFor(30, TimeUnit.SECONDS);
      if (!printed) {
        System.err.println("the threads of the process could not be printed in time");
      }
    } catch (IOException noTool) {
      System.err.println("no threads are printed: " + noTool);
    }
  }

  /** Waits for the end of the process, and returns its exit status. */
  public int awaitExit() throws InterruptedException {
    if (!process.waitFor(Await.TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("still running; output: " + output());
    }
    reader.join();
    return process.exitValue();
  }

  /** Writes a line to the standard input of the process. */
  public void send(String line) throws IOException {
    BufferedWriter input = process.outputWriter(StandardCharsets.UTF_8);
    input.write(line);
    input.newLine();
    input.flush();
  }

  /** Returns the lines that the process has written to standard output so far. */
  public List<String> output() {
    synchronized (output) {
      return List.copyOf(output);
    }
  }

  /** Returns the text that the process has written to standard error so far. */
  public String errors() {
    try {
      return Files.readString(errors);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Sends SIGKILL, and waits for the end of the process. */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Sends SIGTERM. */
  public void terminate() {
    // not Process.destroy(), which closes the output before the process has written its last lines
    process.toHandle().destroy();
  }

  /** Returns the process id. */
  public long pid() {
    return process.pid();
  }

  /** Returns whether the process is running. */
  public boolean isAlive() {
    return process.isAlive();
  }

  @Override
  public void close() {
    // not Process.destroy(), which closes the output before the process has written its last lines
    process.toHandle().destroy();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
