// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.ingest.Ingest;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * Measures {@code POST /v1/check} under overload: wrk's connections send the next call immediately
 * after each response. At the same time, another client with its own connections calls at a
 * constant rate, and the benchmark measures the latencies of this client. The benchmark compares a
 * node that sheds no calls with a node that sheds calls by queue delay.
 */
final class OverloadBenchmark {
  private static final int PARTITIONS = 4;

  /** Policies that deny no call. */
  private static final String POLICIES =
      """
      policies:
        - name: burst
          limit: {algorithm: token-bucket, capacity: 100000, refill_tokens: 100000, refill_period: PT1S}
      """;

  private static final List<Integer> CONNECTIONS = List.of(64, 500, 4_000);
  private static final double BYSTANDER_CALLS_PER_SECOND = 200;
  private static final long HIGHEST_MICROS = 60_000_000;
  private static final int ALLOWED = 200;
  private static final int SHED = 503;
  private static final Map<String, String> WITHOUT =
      Map.of("WEIR_MAX_CALLS_UNDER_WAY", "100000", "WEIR_QUEUE_DELAY_TARGET", "PT0S");
  private static final Map<String, String> WITH = Map.of("WEIR_QUEUE_DELAY_TARGET", "PT0.01S");

  private final Duration warmUp;
  private final Duration length;
  private final PrintStream out;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  OverloadBenchmark(Duration warmUp, Duration length, PrintStream out) {
    this.warmUp = warmUp;
    this.length = length;
    this.out = out;
  }

  void run(Path folder) throws IOException, InterruptedException, TopicAdminException {
    try (Ground ground = ground(folder)) {
      measure(folder, ground, "without", WITHOUT);
      measure(folder, ground, "with", WITH);
    }
  }

  /** Starts the broker and Redis for the nodes, which are overloaded one after another. */
  static Ground ground(Path folder) throws IOException, TopicAdminException {
    return Ground.start(folder, PARTITIONS, POLICIES, "--appendonly", "no");
  }

  private void measure(Path folder, Ground ground, String name, Map<String, String> settings)
      throws IOException, InterruptedException {
    try (Ingest ingest = ground.node(name, settings)) {
      String url = "http://127.0.0.1:" + ingest.httpPort();
      load(folder, url, CONNECTIONS.get(0), warmUp);
      for (int connections : CONNECTIONS) {
        Bystander bystander = new Bystander(url);
        Load load;
        PacedCalls calls = PacedCalls.start(BYSTANDER_CALLS_PER_SECOND, bystander::call);
        try {
          load = load(folder, url, connections, length);
        } finally {
          calls.close();
        }
        out.printf(
            "%-8s %,6d connections: 200 %,8.0f/s   503 %,8.0f/s   bystander 200: %s   503: %s%s%n",
            name,
            connections,
            load.allowedPerSecond(),
            load.otherPerSecond(),
            text(bystander.allowed),
            text(bystander.shed),
            load.errors());
      }
      DecidedByCache.require(url);
    }
  }

  private static String text(Histogram micros) {
    return micros.getTotalCount() == 0
        ? "none"
        : String.format(
            "%,d, p50 %.1f ms, p99 %.1f ms",
            micros.getTotalCount(),
            micros.getValueAtPercentile(50) / 1e3,
            micros.getValueAtPercentile(99) / 1e3);
  }

  private record Load(double allowedPerSecond, double otherPerSecond, String errors) {}

  private Load load(Path folder, String url, int connections, Duration time)
      throws IOException, InterruptedException {
    Path script = folder.resolve("overload.lua");
    Files.writeString(
        script,
        """
        local n = 0
        request = function()
          n = n + 1
          return wrk.format("POST", "/v1/check", nil,
            '{"client":"c' .. (n * 7919 % 10000) .. '","endpoint":"GET /v1/items"}')
        end
        """);
    Process process =
        new ProcessBuilder(
                "wrk",
                "-t1",
                "-c" + connections,
                "-d" + time.toSeconds() + "s",
                "--timeout",
                "10s",
                "-s",
                script.toString(),
                url)
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    double total = number(text, "Requests/sec: +([0-9.]+)");
    double other = number(text, "Non-2xx or 3xx responses: (\\d+)") / time.toSeconds();
    Matcher errors = Pattern.compile("Socket errors: (.*)").matcher(text);
    return new Load(total - other, other, errors.find() ? "   (" + errors.group(1) + ")" : "");
  }

  private static double number(String text, String pattern) {
    Matcher matcher = Pattern.compile(pattern).matcher(text);
    return matcher.find() ? Double.parseDouble(matcher.group(1)) : 0;
  }

  private final class Bystander {
    private final String url;
    private final Histogram allowed = new ConcurrentHistogram(HIGHEST_MICROS, 3);
    private final Histogram shed = new ConcurrentHistogram(HIGHEST_MICROS, 3);

    Bystander(String url) {
      this.url = url;
    }

    void call(long number) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(url + "/v1/check"))
              .POST(
                  HttpRequest.BodyPublishers.ofString(
                      "{\"client\":\"bystander-" + number % 100 + "\"}"))
              .build();
      long begun = System.nanoTime();
      try {
        int status = http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        long micros = Math.min((System.nanoTime() - begun) / 1_000, HIGHEST_MICROS);
        if (status == ALLOWED) {
          allowed.recordValue(micros);
        } else if (status == SHED) {
          shed.recordValue(micros);
        }
      } catch (IOException failed) {
        throw new IllegalStateException(failed);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
