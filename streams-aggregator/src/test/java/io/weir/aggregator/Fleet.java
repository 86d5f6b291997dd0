// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Some aggregator processes over one broker, each at a port that it keeps. */
final class Fleet implements AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** The shortest session there is: partitions of a member that is gone move after it. */
  static final Duration SHORT_SESSION = Duration.ofSeconds(6);

  /** Longer than any test waits: partitions of a member that is gone do not move. */
  static final Duration ENDLESS_SESSION = Duration.ofMinutes(5);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final Path folder;
  private final int partitions;
  private final List<Integer> ports = new ArrayList<>();
  private final List<AggregatorProcess> members = new ArrayList<>();

  Fleet(Broker broker, int partitions, Path folder, int size, Duration sessionTimeout)
      throws IOException {
    this.folder = folder;
    this.partitions = partitions;
    for (int i = 0; i < size; i++) {
      int port = Ports.free();
      ports.add(port);
      members.add(
          new AggregatorProcess(
              Map.of(
                  "WEIR_SINGLE_COPY",
                  "allow",
                  "WEIR_KAFKA",
                  broker.bootstrapServers(),
                  "WEIR_DATA",
                  data(i).toString(),
                  "WEIR_REPORTS_PORT",
                  Integer.toString(port),
                  "WEIR_WINDOW",
                  "PT2S",
                  "WEIR_GRACE",
                  "PT1S",
                  "WEIR_INSTANCE",
                  "node-" + i,
                  "WEIR_SESSION_TIMEOUT",
                  sessionTimeout.toString()),
              folder.resolve("log-" + i)));
    }
  }

  private Path data(int member) {
    return folder.resolve("data-" + member);
  }

  AggregatorProcess member(int member) {
    return members.get(member);
  }

  List<Integer> ports() {
    return List.copyOf(ports);
  }

  int port(int member) {
    return ports.get(member);
  }

  /** Throws away what a member, which must not run, has on its disk. */
  void loseState(int member) throws IOException {
    try (Stream<Path> paths = Files.walk(data(member))) {
      paths.sorted(Comparator.reverseOrder()).forEach(Fleet::delete);
    }
  }

  private static void delete(Path path) {
    try {
      Files.delete(path);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Waits until each counts a part. */
  void awaitAllShare() throws Exception {
    for (int i = 0; i < members.size(); i++) {
      int member = i;
      Await.until(
          "node-" + member + " counts a part", () -> counted(member) > 0 && isRunning(member));
    }
  }

  /** Waits until each counts a part, and can report everything itself. */
  void awaitAllHaveAll() throws Exception {
    awaitAllShare();
    for (int i = 0; i < members.size(); i++) {
      int member = i;
      Await.until("node-" + member + " can report all", () -> readable(member) == partitions);
    }
  }

  /** Waits until a member counts, and can answer for all that belongs to it. */
  void awaitCaughtUp(int member) throws Exception {
    Await.until("node-" + member + " has caught up", () -> isCaughtUp(member));
  }

  private boolean isCaughtUp(int member) throws InterruptedException {
    try {
      HttpResponse<String> ready = get(member, "/health/ready");
      JsonNode document = MAPPER.readTree(ready.body());
      return ready.statusCode() == 200
          && document.path("counting").asText().equals("running")
          && document.path("catching_up").isEmpty();
    } catch (IOException unreachable) {
      return false;
    }
  }

  /** Returns whether a member reports that it is live. */
  boolean isLive(int member) throws InterruptedException {
    try {
      return get(member, "/health/live").statusCode() == 200;
    } catch (IOException unreachable) {
      return false;
    }
  }

  /** Returns whether a member counts all partitions. */
  boolean countsAll(int member) throws InterruptedException {
    return counted(member) == partitions && isRunning(member);
  }

  private double counted(int member) throws InterruptedException {
    return metric(member, "weir_partitions{role=\"counted\"}");
  }

  private double readable(int member) throws InterruptedException {
    return metric(member, "weir_partitions{role=\"readable\"}");
  }

  private boolean isRunning(int member) throws InterruptedException {
    return metric(member, "weir_streams_running{application=\"meter-core\"}") == 1;
  }

  /**
   * Returns a figure of {@code /metrics}; 0 if the instance does not respond or the figure is
   * absent.
   */
  private double metric(int member, String name) throws InterruptedException {
    try {
      return get(member, "/metrics")
          .body()
          .lines()
          .filter(line -> line.startsWith(name + " "))
          .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
          .sum();
    } catch (IOException unreachable) {
      return 0;
    }
  }

  /** The document of a route that answers 200, or 503 while the machine is too busy for it. */
  Optional<JsonNode> document(int member, String path, String... headers)
      throws IOException, InterruptedException {
    HttpResponse<String> response = get(member, path, headers);
    return switch (response.statusCode()) {
      case 200 -> Optional.of(MAPPER.readTree(response.body()));
      case 503 -> Optional.empty();
      default ->
          throw new AssertionError(path + ": " + response.statusCode() + " " + response.body());
    };
  }

  private HttpResponse<String> get(int member, String path, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port(member) + path))
            .timeout(Await.TIMEOUT);
    if (headers.length > 0) {
      request.headers(headers);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** Returns a member's log, for a failed test. */
  String log(int member) throws IOException {
    return Files.readString(folder.resolve("log-" + member));
  }

  @Override
  public void close() {
    members.forEach(AggregatorProcess::close);
  }
}
