// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.compose;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The containers of {@code docker-compose.yml}, as a project of its own: with its own names,
 * network, volumes and image. What is done to a container is done as an operator would, by {@code
 * docker}. Not safe for threads.
 */
final class ComposeProject implements AutoCloseable {
  private static final List<String> DOCKER = List.of("docker");

  private final String name;
  private final String image;
  private final Path logs;
  private final Cli cli;
  private final List<String> compose;
  private final Map<String, String> containers = new HashMap<>();
  private final Thread downAtExit = new Thread(this::downQuietly, "compose-down");

  private ComposeProject(Path root, String name, Map<String, String> variables, Path logs)
      throws IOException, InterruptedException {
    Map<String, String> all = new HashMap<>(variables);
    all.put("COMPOSE_PROJECT_NAME", name);
    all.put("WEIR_TAG", name);
    this.name = name;
    this.image = "weir:" + name;
    this.logs = logs;
    this.cli = new Cli(root, all);
    if (cli.end(command(DOCKER, "info")).status() != 0) {
      throw new IllegalStateException("no Docker engine answers (docker info)");
    }
    this.compose = composeCommand();
  }

  /** Compose is a command of its own, or one of docker's. */
  private List<String> composeCommand() throws InterruptedException {
    try {
      cli.end(List.of("docker-compose", "version"));
      return List.of("docker-compose");
    } catch (IOException notThere) {
      return List.of("docker", "compose");
    }
  }

  /**
   * Builds the image and starts all services, of which an earlier run may have left some.
   *
   * @param root where the compose file is
   * @param variables of the compose file
   * @param logs where the containers' output is kept in the end
   */
  static ComposeProject up(Path root, String name, Map<String, String> variables, Path logs)
      throws IOException, InterruptedException {
    ComposeProject project = new ComposeProject(root, name, variables, logs);
    Runtime.getRuntime().addShutdownHook(project.downAtExit);
    try {
      project.compose("down", "--volumes", "--remove-orphans");
      project.compose("up", "--detach", "--build");
      return project;
    } catch (Throwable failed) {
      project.close();
      throw failed;
    }
  }

  private String compose(String... arguments) throws IOException, InterruptedException {
    return cli.run(command(compose, arguments));
  }

  private String docker(String... arguments) throws IOException, InterruptedException {
    return cli.run(command(DOCKER, arguments));
  }

  private static List<String> command(List<String> begun, String... arguments) {
    List<String> command = new ArrayList<>(begun);
    command.addAll(List.of(arguments));
    return command;
  }

  /** The id of a service's container, whether it runs or not. */
  private String container(String service) throws IOException, InterruptedException {
    String known = containers.get(service);
    if (known == null) {
      known = compose("ps", "--quiet", service).strip();
      containers.put(service, known);
    }
    return known;
  }

  /** SIGKILL; the engine does not start again what was killed by hand. */
  void kill(String service) throws IOException, InterruptedException {
    docker("kill", "--signal", "KILL", container(service));
  }

  void start(String service) throws IOException, InterruptedException {
    docker("start", container(service));
  }

  /** SIGTERM, and SIGKILL when that does not help; then start. */
  void restart(String service) throws IOException, InterruptedException {
    docker("restart", "-t", "60", container(service));
  }

  /** Takes the network away from a container that goes on running. */
  void cut(String service) throws IOException, InterruptedException {
    docker("network", "disconnect", name + "_default", container(service));
  }

  /** Gives a container its network back, under its name. */
  void join(String service) throws IOException, InterruptedException {
    docker("network", "connect", "--alias", service, name + "_default", container(service));
  }

  /**
   * Stops a service in order, within the time that the compose file gives it.
   *
   * @return the status its process exited with; 137 when it had to be killed
   */
  int stop(String service) throws IOException, InterruptedException {
    compose("stop", service);
    return Integer.parseInt(
        docker("inspect", "--format", "{{.State.ExitCode}}", container(service)).strip());
  }

  /** Returns the lines that a service has logged since a time. */
  String logs(String service, Instant since) throws IOException, InterruptedException {
    Cli.Ended ended =
        cli.end(command(DOCKER, "logs", "--since", since.toString(), container(service)));
    return ended.output() + ended.errors();
  }

  /** Runs a command in a new container of a service, however it ends. */
  Cli.Ended run(String service, Map<String, String> variables, List<String> arguments)
      throws IOException, InterruptedException {
    List<String> command = command(compose, "run", "--rm", "--no-deps", "-T");
    variables.forEach((variable, value) -> command.addAll(List.of("-e", variable + "=" + value)));
    command.add(service);
    command.addAll(arguments);
    return cli.end(command);
  }

  private void downQuietly() {
    try {
      down();
    } catch (IOException | IllegalStateException failed) {
      System.err.println("project " + name + " may still be there: " + failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void down() throws IOException, InterruptedException {
    cli.end(command(compose, "kill")); // which may find nothing to kill
    compose("down", "--volumes", "--remove-orphans");
    cli.end(command(DOCKER, "image", "rm", image));
  }

  /**
   * Keeps the output of all containers, and takes away all that is of this project; at the latest
   * when this JVM ends.
   */
  @Override
  public void close() throws IOException {
    try {
      Files.writeString(logs, compose("logs", "--no-color", "--timestamps"));
      down();
      Runtime.getRuntime().removeShutdownHook(downAtExit);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
