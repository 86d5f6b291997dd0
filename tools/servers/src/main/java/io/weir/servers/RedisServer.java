// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A redis-server in a child process. The server listens on loopback only, and never evicts keys.
 * The server writes an append-only file, so buckets survive a restart with the same folder.
 *
 * <p>The server ends with this process. A supervising shell stops the server when a pipe from this
 * process closes, which happens even after {@code kill -9}.
 */
public final class RedisServer implements AutoCloseable {
  /**
   * ACL rules of a server that other users of this machine can reach. Clients may read the
   * configuration but not change it, because {@code CONFIG SET dir} would let them write files as
   * the server's user.
   */
  private static final List<String> NO_ADMINISTRATION =
      List.of("~*", "&*", "+@all", "-@admin", "+config|get");

  private static final Duration START_TIMEOUT = Duration.ofSeconds(20);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);
  private static final int PROBE_TIMEOUT_MILLIS = 500;
  private static final String LOG_FILE = "redis.log";
  private static final long MAX_LOG_BYTES = 10L << 20;

  /**
   * The shell command that starts the server, prints its process id, and stops it when standard
   * input closes. If the machine has {@code setsid}, the server gets its own session. In the
   * session of the terminal, Ctrl-C would stop the server before its owner has stopped.
   */
  private static final String SUPERVISOR =
      "trap '' INT; exec 3<&0; $(command -v setsid) \"$@\" </dev/null >>\"$WEIR_REDIS_LOG\" 2>&1 & pid=$!; echo $pid; "
          + "(read -r _ <&3; kill -TERM $pid) 2>/dev/null & watch=$!; "
          + "wait $pid; status=$?; kill $watch 2>/dev/null; exit $status";

  private final Process supervisor;
  private final long pid;
  private final int port;
  private final Path folder;

  private RedisServer(Process supervisor, long pid, int port, Path folder) {
    this.supervisor = supervisor;
    this.pid = pid;
    this.port = port;
    this.folder = folder;
  }

  /**
   * Starts a server and waits until it replies.
   *
   * @param folder folder of the data and the log
   * @param port the port on which the server listens; 0 selects a free port
   * @param options further options of redis-server's command line
   * @throws ServerStartException if the port is in use or the server does not answer
   */
  public static RedisServer start(Path folder, int port, String... options) throws IOException {
    if (port != 0) {
      Ports.requireFree(port, "Redis", "WEIR_REDIS_PORT");
    }
    Files.createDirectories(folder);
    boundLog(folder.resolve(LOG_FILE));
    int actualPort = port == 0 ? Ports.free() : port;
    List<String> arguments = common(folder, actualPort);
    arguments.addAll(
        List.of(
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            "--save",
            "",
            "--maxmemory-policy",
            "noeviction"));
    arguments.addAll(List.of(options));
    return launch(folder, actualPort, arguments);
  }

  /**
   * Starts a server whose configuration no client can change, for a machine with several users.
   *
   * @param folder folder of the data and the log
   * @param port the port on which the server listens; 0 selects a free port
   * @param passwordSha256 the SHA-256, in hexadecimal digits, of the password that clients must
   *     send; null if all users may use the server
   * @throws ServerStartException if the port is in use or the server does not answer
   */
  public static RedisServer startLockedDown(Path folder, int port, @Nullable String passwordSha256)
      throws IOException {
    // contains only the hash, because every user can read the command line of a process
    String rule = passwordSha256 == null ? "nopass" : "#" + passwordSha256;
    List<String> options = new ArrayList<>(List.of("--user", "default", "on", rule));
    options.addAll(NO_ADMINISTRATION);
    return start(folder, port, options.toArray(String[]::new));
  }

  /**
   * Starts a sentinel and waits until it replies.
   *
   * @param folder folder of the log
   * @param config the configuration file, which the sentinel rewrites
   * @param port the port on which the sentinel listens
   * @throws ServerStartException if the port is in use or the sentinel does not reply
   */
  public static RedisServer startSentinel(Path folder, Path config, int port) throws IOException {
    List<String> arguments = new ArrayList<>(List.of(config.toString(), "--sentinel"));
    arguments.addAll(common(folder, port));
    return launch(folder, port, arguments);
  }

  private static List<String> common(Path folder, int port) {
    return new ArrayList<>(
        List.of(
            "--bind",
            "127.0.0.1",
            "--port",
            Integer.toString(port),
            "--dir",
            folder.toAbsolutePath().toString(),
            "--loglevel",
            "warning",
            "--daemonize",
            "no"));
  }

  private static RedisServer launch(Path folder, int actualPort, List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>(List.of("sh", "-c", SUPERVISOR, "redis-supervisor"));
    command.add(RedisBinary.find(folder).toString());
    command.addAll(arguments);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
    builder.environment().put("WEIR_REDIS_LOG", folder.resolve(LOG_FILE).toString());
    Process supervisor = builder.start();
    BufferedReader output = supervisor.inputReader(StandardCharsets.UTF_8);
    String pid = output.readLine();
    if (pid == null) {
      throw new ServerStartException("redis-server did not start; see " + folder.resolve(LOG_FILE));
    }
    RedisServer server =
        new RedisServer(supervisor, Long.parseLong(pid.strip()), actualPort, folder);
    server.awaitAnswer();
    return server;
  }

  /** Renames the log file if it is too large, because every start appends to it. */
  private static void boundLog(Path log) throws IOException {
    if (Files.exists(log) && Files.size(log) > MAX_LOG_BYTES) {
      Files.move(log, log.resolveSibling(LOG_FILE + ".1"), StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private void awaitAnswer() throws IOException {
    long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
    while (!answersPing()) {
      if (!supervisor.isAlive() || System.nanoTime() > deadline) {
        close();
        throw new ServerStartException(
            "redis-server on port " + port + " did not reply; see " + folder.resolve(LOG_FILE));
      }
      pause();
    }
  }

  private boolean answersPing() {
    try (Socket socket = new Socket()) {
      socket.connect(
          new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PROBE_TIMEOUT_MILLIS);
      socket.setSoTimeout(PROBE_TIMEOUT_MILLIS);
      OutputStream out = socket.getOutputStream();
      out.write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
      out.flush();
      InputStream in = socket.getInputStream();
      String answer = new String(in.readNBytes(7), StandardCharsets.US_ASCII);
      // a server that is still loading its data replies -LOADING
      return answer.startsWith("+PONG") || answer.equals("-NOAUTH");
    } catch (IOException notYet) {
      return false;
    }
  }

  private static void pause() throws IOException {
    try {
      TimeUnit.MILLISECONDS.sleep(10);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new ServerStartException("interrupted while redis-server started", interrupted);
    }
  }

  /** Returns whether the server's process runs. */
  public boolean isAlive() {
    return supervisor.isAlive();
  }

  /** Returns the URI, {@code redis://127.0.0.1:port}. */
  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  /** Returns the port on which the server listens. */
  public int port() {
    return port;
  }

  /** Returns the server's process id. */
  public long pid() {
    return pid;
  }

  /** Kills the server with SIGKILL. The server writes no further data. */
  public void kill() {
    ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    awaitEnd();
  }

  /** Stops the server with SIGTERM. The data remain. */
  @Override
  public void close() {
    ProcessHandle.of(pid).ifPresent(ProcessHandle::destroy);
    awaitEnd();
  }

  private void awaitEnd() {
    try {
      if (!supervisor.waitFor(STOP_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
        supervisor.destroyForcibly();
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
