// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.Ports;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A real PostgreSQL server for a test. The server has a temporary data folder, a free loopback
 * port, and an empty database {@code weir}. The database belongs to the superuser {@code weir}.
 * Debian's package {@code postgresql} contains the programs. PostgreSQL refuses to run as root.
 * Therefore root starts the server as {@code postgres}, the user of this package. Not thread-safe.
 */
public final class TestPostgres implements AutoCloseable {
  private static final String NAME = "weir";
  private static final String ADDRESS = "127.0.0.1";
  private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
  private static final String UNPRIVILEGED = "postgres";

  private final Path folder = TempFolders.create("postgres");
  private final Path programs;
  private final int port;
  private final Process server;

  private TestPostgres(Path programs) {
    this.programs = programs;
    try {
      port = Ports.free();
      Path data = folder.resolve("data");
      if (isRoot()) {
        run(List.of("chown", UNPRIVILEGED, folder.toString()));
      } else {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
      }
      run(
          unprivileged(
              "initdb",
              "-D",
              data.toString(),
              "-U",
              NAME,
              "-A",
              "trust",
              "--no-sync",
              "-E",
              "UTF8"));
      server =
          new ProcessBuilder(
                  unprivileged(
                      "postgres",
                      "-D",
                      data.toString(),
                      "-p",
                      Integer.toString(port),
                      "-k",
                      folder.toString(),
                      "-c",
                      "listen_addresses=" + ADDRESS,
                      "-c",
                      "fsync=off"))
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("server.log").toFile())
              .start();
      awaitReady();
      run(client("postgres", "-c", "CREATE DATABASE " + NAME));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /**
   * Starts a server.
   *
   * @throws IllegalStateException if PostgreSQL is not {@linkplain #isInstalled() installed}
   */
  public static TestPostgres start() {
    return new TestPostgres(
        programs().orElseThrow(() -> new IllegalStateException("PostgreSQL is not installed")));
  }

  /** Returns whether PostgreSQL is installed on this machine. */
  public static boolean isInstalled() {
    return programs().isPresent();
  }

  /**
   * Returns the folder of PostgreSQL's programs: the newest version of Debian's packages, or else a
   * folder of PATH.
   */
  private static Optional<Path> programs() {
    if (Files.isDirectory(DEBIAN)) {
      try (Stream<Path> versions = Files.list(DEBIAN)) {
        return versions
            .map(version -> version.resolve("bin"))
            .filter(TestPostgres::hasServer)
            .max(Comparator.naturalOrder());
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
    }
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1))
        .map(Path::of)
        .filter(TestPostgres::hasServer)
        .findFirst();
  }

  private static boolean hasServer(Path folder) {
    return Files.isExecutable(folder.resolve("initdb"))
        && Files.isExecutable(folder.resolve("psql"));
  }

  /** Returns the JDBC URL of the database. */
  public String jdbcUrl() {
    return "jdbc:postgresql://" + ADDRESS + ":" + port + "/" + NAME;
  }

  /** Returns the name of the database user, who needs no password. */
  public String user() {
    return NAME;
  }

  /**
   * Runs a statement in psql, and returns the lines of the result, with cells separated by {@code
   * |}.
   */
  public List<String> query(String statement) {
    return run(client(NAME, "-c", statement)).lines().toList();
  }

  /** Runs the statements of a file in psql. */
  public void runFile(Path file) {
    run(client(NAME, "-q", "-f", file.toString()));
  }

  private List<String> client(String database, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(programs.resolve("psql").toString());
    command.addAll(List.of("-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", ADDRESS));
    command.addAll(List.of("-p", Integer.toString(port), "-U", NAME, "-d", database));
    command.addAll(List.of(arguments));
    return command;
  }

  private List<String> unprivileged(String program, String... arguments) {
    List<String> command = new ArrayList<>();
    if (isRoot()) {
      command.addAll(List.of("setpriv", "--reuid=" + UNPRIVILEGED, "--regid=" + UNPRIVILEGED));
      command.add("--clear-groups");
    }
    command.add(programs.resolve(program).toString());
    command.addAll(List.of(arguments));
    return command;
  }

  private static boolean isRoot() {
    return System.getProperty("user.name").equals("root");
  }

  private void awaitReady() throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    List<String> question =
        List.of(
            programs.resolve("pg_isready").toString(),
            "-q",
            "-t",
            "5",
            "-h",
            ADDRESS,
            "-p",
            Integer.toString(port));
    while (status(new ProcessBuilder(question).start()) != 0) {
      if (!server.isAlive() || System.nanoTime() > deadline) {
        String log = Files.readString(folder.resolve("server.log"));
        server.destroyForcibly();
        throw new IllegalStateException("PostgreSQL did not start: " + log);
      }
    }
  }

  /**
   * Runs a program to its end, and returns its output. Throws an exception if the program fails.
   */
  private String run(List<String> command) {
    try {
      Path errors = Files.createTempFile("weir-postgres-", ".err");
      Process process =
          new ProcessBuilder(command)
              .directory(folder.toFile())
              .redirectError(errors.toFile())
              .start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int status = status(process);
      String said = Files.readString(errors);
      Files.delete(errors);
      if (status != 0) {
        throw new IllegalStateException(command + " ended with " + status + ": " + said + output);
      }
      return output;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static int status(Process process) {
    try {
      return process.waitFor();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }

  @Override
  public void close() {
    // SIGINT requests a fast shutdown, which does not wait for clients
    TestRedis.signal(server.pid(), "INT");
    status(server);
    TempFolders.delete(folder);
  }
}
