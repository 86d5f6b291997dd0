// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.javalin.Javalin;
import io.weir.ingest.Ingest;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code POST /v1/check} with a decision by Redis and the event journaled, against an empty Javalin
 * route that reads nothing, both by wrk from this machine.
 */
final class CheckBenchmark {
  private static final int CLIENTS = 10_000;
  private static final Pattern RATE = Pattern.compile("Requests/sec: +([0-9.]+)");

  private final Duration warmUp;
  private final Duration length;
  private final PrintStream out;

  CheckBenchmark(Duration warmUp, Duration length, PrintStream out) {
    this.warmUp = warmUp;
    this.length = length;
    this.out = out;
  }

  void run(Path folder) throws IOException, InterruptedException, TopicAdminException {
    double empty = emptyRoute(folder);
    double check = check(folder);
    if (empty > 0) {
      out.printf("/v1/check / empty route: %.0f %%%n", 100 * check / empty);
    }
  }

  private double emptyRoute(Path folder) throws IOException, InterruptedException {
    Javalin javalin =
        Javalin.create(
                config -> {
                  config.startup.showJavalinBanner = false;
                  config.concurrency.useVirtualThreads = Runtime.version().feature() >= 21;
                  config.routes.post("/v1/check", context -> context.result("{}"));
                })
            .start("127.0.0.1", 0);
    try {
      wrk(folder, javalin.port(), warmUp, "warm-up");
      return wrk(folder, javalin.port(), length, "empty Javalin route");
    } finally {
      javalin.stop();
    }
  }

  private double check(Path folder) throws IOException, InterruptedException, TopicAdminException {
    String policies =
        """
        policies:
          - name: burst
            limit: {algorithm: token-bucket, capacity: 1000, refill_tokens: 1000, refill_period: PT1S}
        """;
    try (Ground ground = Ground.start(folder, 4, policies, "--appendonly", "no");
        Ingest ingest = ground.node("bench", Map.of())) {
      wrk(folder, ingest.httpPort(), warmUp, "warm-up");
      double rate = wrk(folder, ingest.httpPort(), length, "/v1/check, decided and journaled");
      DecidedByCache.require("http://127.0.0.1:" + ingest.httpPort());
      return rate;
    }
  }

  private double wrk(Path folder, int port, Duration time, String name)
      throws IOException, InterruptedException {
    Path script = folder.resolve("check.lua");
    Files.writeString(
        script,
        "local n = 0\n"
            + "local headers = {[\"Content-Type\"] = \"application/json\"}\n"
            + "request = function()\n"
            + "  n = n + 1\n"
            + "  return wrk.format(\"POST\", \"/v1/check\", headers,\n"
            + "    '{\"client\":\"c' .. (n * 7919 % "
            + CLIENTS
            + ") .. '\",\"endpoint\":\"GET /v1/items\"}')\n"
            + "end\n");
    Process process;
    try {
      process =
          new ProcessBuilder(
                  List.of(
                      "wrk",
                      "-t1",
                      "-c64",
                      "-d" + time.toSeconds() + "s",
                      "--latency",
                      "-s",
                      script.toString(),
                      "http://127.0.0.1:" + port))
              .redirectErrorStream(true)
              .start();
    } catch (IOException missing) {
      out.println("wrk is not on PATH: HTTP was not measured");
      return 0;
    }
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    Matcher rate = RATE.matcher(text);
    double perSecond = rate.find() ? Double.parseDouble(rate.group(1)) : 0;
    if (!name.equals("warm-up")) {
      out.printf(
          "%-34s %,10.0f/s   p50 %s   p99 %s%s%n",
          name, perSecond, percentile(text, "50%"), percentile(text, "99%"), failures(text));
    }
    return perSecond;
  }

  private static String percentile(String text, String percent) {
    Matcher value = Pattern.compile("\n +" + Pattern.quote(percent) + " +(\\S+)").matcher(text);
    return value.find() ? value.group(1) : "?";
  }

  private static String failures(String text) {
    Matcher failed = Pattern.compile("Non-2xx or 3xx responses: (\\d+)").matcher(text);
    return failed.find() ? "   (not 2xx: " + failed.group(1) + ")" : "";
  }
}
