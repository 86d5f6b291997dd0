// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.javalin.Javalin;
import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.AggregatorStartException;
import io.weir.ingest.Ingest;
import io.weir.ingest.IngestConfig;
import io.weir.servers.EmbeddedKafka;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A server in a separate process, so that its processor time can be measured. The server ends with
 * the process that started it.
 */
final class MeasuredServer implements AutoCloseable {
  /**
   * The environment variable with further options of the JVM of a node or an aggregator, for
   * example for a flight recording.
   */
  private static final String NODE_OPTIONS = "BENCH_NODE_JAVA_OPTS";

  private static final String READY = "ready ";
  private static final long END_SECONDS = 30;

  private final Process process;
  private final String address;

  private MeasuredServer(Process process, String address) {
    this.process = process;
    this.address = address;
  }

  /** Starts a broker. */
  static MeasuredServer broker(Path folder) throws IOException {
    return start("broker", folder.toString());
  }

  /** Starts an empty Javalin route, which does not read requests. */
  static MeasuredServer emptyRoute() throws IOException {
    return start("empty");
  }

  /** Starts an ingest node with the given environment variables. */
  static MeasuredServer node(Map<String, String> variables) throws IOException {
    return start("node", variables);
  }

  /** Starts an aggregator with the given environment variables. */
  static MeasuredServer aggregator(Map<String, String> variables) throws IOException {
    return start("aggregator", variables);
  }

  private static MeasuredServer start(String kind, Map<String, String> variables)
      throws IOException {
    List<String> arguments = new ArrayList<>(List.of(kind));
    variables.forEach((name, value) -> arguments.add(name + "=" + value));
    return start(arguments.toArray(String[]::new));
  }

  private static MeasuredServer start(String... arguments) throws IOException {
    boolean isWeir = arguments[0].equals("node") || arguments[0].equals("aggregator");
    String options = isWeir ? System.getenv(NODE_OPTIONS) : null;
    ProcessHandle here = ProcessHandle.current();
    List<String> command = new ArrayList<>();
    command.add(here.info().command().orElse("java"));
    if (Runtime.version().feature() >= 21) {
      command.add("--enable-native-access=ALL-UNNAMED");
    }
    if (Runtime.version().feature() >= 24) {
      command.add("--sun-misc-unsafe-memory-access=allow");
    }
    if (options != null) {
      command.addAll(List.of(options.split(" ")));
    }
    command.addAll(
        List.of(
            "-Xmx1g",
            "-cp",
            System.getProperty("java.class.path"),
            MeasuredServer.class.getName()));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(READY)) {
        return new MeasuredServer(process, line.substring(READY.length()));
      }
    }
    throw new IOException(String.join(" ", arguments) + " did not start");
  }

  /** Returns host and port. */
  String address() {
    return address;
  }

  /** Returns the processor time of the process since its start; 0 if it has ended. */
  long cpuNanos() {
    return cpuNanos(process.toHandle());
  }

  /** Returns the processor time of a process since its start; 0 if it has ended. */
  static long cpuNanos(ProcessHandle process) {
    return process.info().totalCpuDuration().map(time -> time.toNanos()).orElse(0L);
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    try {
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  /** Runs the server until the process that started it ends. */
  public static void main(String... arguments) throws Exception {
    AutoCloseable server =
        switch (arguments[0]) {
          case "broker" -> startBroker(Path.of(arguments[1]));
          case "empty" -> startEmptyRoute();
          case "node" -> startNode(environment(arguments));
          case "aggregator" -> startAggregator(environment(arguments));
          default -> throw new IllegalArgumentException(arguments[0]);
        };
    while (System.in.read() >= 0) {
      // nothing is sent
    }
    server.close();
    System.exit(0);
  }

  private static AutoCloseable startBroker(Path folder) throws IOException {
    EmbeddedKafka kafka = EmbeddedKafka.start(folder, 0);
    System.out.println(READY + kafka.bootstrapServers());
    return kafka;
  }

  private static AutoCloseable startEmptyRoute() {
    Javalin javalin =
        Javalin.create(
                config -> {
                  config.startup.showJavalinBanner = false;
                  config.concurrency.useVirtualThreads = Runtime.version().feature() >= 21;
                  config.routes.post("/v1/check", context -> context.result("{}"));
                })
            .start("127.0.0.1", 0);
    System.out.println(READY + "127.0.0.1:" + javalin.port());
    return javalin::stop;
  }

  private static Map<String, String> environment(String... arguments) {
    Map<String, String> environment = new HashMap<>();
    for (String variable : List.of(arguments).subList(1, arguments.length)) {
      String[] parts = variable.split("=", 2);
      environment.put(parts[0], parts[1]);
    }
    return environment;
  }

  private static AutoCloseable startAggregator(Map<String, String> environment)
      throws AggregatorStartException {
    Aggregator aggregator = Aggregator.start(AggregatorConfig.of(environment));
    System.out.println(READY + "127.0.0.1:" + aggregator.reportsPort());
    return aggregator;
  }

  private static AutoCloseable startNode(Map<String, String> environment) {
    Ingest node = Ingest.start(IngestConfig.of(environment));
    System.out.println(READY + "127.0.0.1:" + node.httpPort());
    return node;
  }
}
