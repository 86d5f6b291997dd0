// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.RedisServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.testcontainers.containers.FixedHostPortGenericContainer;
import org.testcontainers.containers.GenericContainer;

/** A real redis-server for a test, on a free port. Not thread-safe. */
public abstract sealed class TestRedis implements AutoCloseable {
  /** Starts a server for this test only, as a process or a container. */
  public static TestRedis start(String... options) {
    return Containers.requested() ? new InContainer(options) : new AsProcess(options);
  }

  /**
   * Borrows the server that the tests of this JVM share. The server then has no keys and no
   * scripts. {@link #close} returns the server. The first call starts the server, and the server
   * ends with the JVM. A test that kills or pauses a server, or changes its settings, must start
   * its own server.
   *
   * @throws IllegalStateException if another test has borrowed the server
   */
  public static TestRedis borrow() {
    return SharedRedis.lend();
  }

  /**
   * Starts a server as a process, even if containers are requested. Use this method if two servers
   * must connect to each other.
   */
  public static TestRedis startProcess(String... options) {
    return new AsProcess(options);
  }

  /** Returns the URI, {@code redis://host:port}, which {@link #restart} does not change. */
  public abstract String uri();

  /** Kills the server with SIGKILL. */
  public abstract void kill();

  /** Restarts the server on the same port with the same data. The server must not be running. */
  public abstract void restart();

  /** Suspends the server's process with SIGSTOP. */
  public abstract void pause();

  /** Resumes a paused server. */
  public abstract void resume();

  @Override
  public abstract void close();

  /** Sends a signal to a process. */
  static void signal(long pid, String name) {
    try {
      int status = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
      if (status != 0) {
        throw new IllegalStateException("kill -" + name + " failed with status " + status);
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }

  private static final class AsProcess extends TestRedis {
    private final Path folder = TempFolders.create("redis");
    private final String[] options;
    private RedisServer server;

    AsProcess(String[] options) {
      this.options = options;
      this.server = start(0);
    }

    private RedisServer start(int port) {
      try {
        return RedisServer.start(folder, port, options);
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
    }

    @Override
    public String uri() {
      return server.uri();
    }

    @Override
    public void kill() {
      server.kill();
    }

    @Override
    public void restart() {
      server = start(server.port());
    }

    @Override
    public void pause() {
      signal(server.pid(), "STOP");
    }

    @Override
    public void resume() {
      signal(server.pid(), "CONT");
    }

    @Override
    public void close() {
      server.close();
      TempFolders.delete(folder);
    }
  }

  /** The shared server of this JVM while a test has borrowed it. */
  static final class Borrowed extends TestRedis {
    private final TestRedis shared;

    Borrowed(TestRedis shared) {
      this.shared = shared;
    }

    @Override
    public String uri() {
      return shared.uri();
    }

    @Override
    public void kill() {
      throw refused();
    }

    @Override
    public void restart() {
      throw refused();
    }

    @Override
    public void pause() {
      throw refused();
    }

    @Override
    public void resume() {
      throw refused();
    }

    private static IllegalStateException refused() {
      return new IllegalStateException(
          "a test must not kill, pause or restart the shared " + "server; use start() instead");
    }

    @Override
    public void close() {
      SharedRedis.takeBack(this);
    }
  }

  private static final class InContainer extends TestRedis {
    private static final String IMAGE = "redis:7-alpine";
    private static final int PORT = 6379;

    private final GenericContainer<?> container;
    private final int hostPort;

    @SuppressWarnings({"deprecation", "resource"}) // a restart must use the same port
    InContainer(String[] options) {
      try {
        hostPort = io.weir.servers.Ports.free();
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
      String[] command = new String[options.length + 5];
      System.arraycopy(
          new String[] {"redis-server", "--protected-mode", "no", "--appendonly", "yes"},
          0,
          command,
          0,
          5);
      System.arraycopy(options, 0, command, 5, options.length);
      container =
          new FixedHostPortGenericContainer<>(IMAGE)
              .withFixedExposedPort(hostPort, PORT)
              .withCommand(command)
              .withStartupTimeout(Containers.START_TIMEOUT);
      container.start();
    }

    @Override
    public String uri() {
      return "redis://" + container.getHost() + ":" + hostPort;
    }

    @Override
    public void kill() {
      container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void restart() {
      container.getDockerClient().startContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void pause() {
      container.getDockerClient().pauseContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void resume() {
      container.getDockerClient().unpauseContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void close() {
      container.stop();
    }
  }
}
