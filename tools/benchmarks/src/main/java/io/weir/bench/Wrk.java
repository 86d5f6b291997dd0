// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Sends load to HTTP servers with wrk, and measures the processor time per call of each process.
 */
final class Wrk {
  private static final Pattern RATE = Pattern.compile("Requests/sec: +([0-9.]+)");
  private static final Pattern REQUESTS = Pattern.compile("\n +([0-9]+) requests in ");

  private final PrintStream out;

  Wrk(PrintStream out) {
    this.out = out;
  }

  /**
   * A measured address and the processes that serve it.
   *
   * @param cpu functions by process name; each returns the process's processor time since its
   *     start, in nanoseconds
   */
  record Subject(
      String name,
      String address,
      Path script,
      int callsOfARequest,
      Map<String, LongSupplier> cpu) {
    /** Returns the processor time of each process since its start. */
    Map<String, Long> cpuNow() {
      Map<String, Long> now = new LinkedHashMap<>();
      cpu.forEach((process, nanos) -> now.put(process, nanos.getAsLong()));
      return now;
    }

    /** Returns the processor time per call of each process, as text. */
    String cpuSince(Map<String, Long> before, double calls) {
      StringBuilder words = new StringBuilder();
      cpuNow()
          .forEach(
              (process, nanos) ->
                  words.append(
                      String.format(
                          "  %s %.1f µs",
                          process, (nanos - before.getOrDefault(process, 0L)) / 1_000.0 / calls)));
      return words.toString();
    }
  }

  /** Sends calls to a server over 64 connections. Returns the calls per second. */
  double run(Subject subject, Duration time, boolean tell)
      throws IOException, InterruptedException {
    Map<String, Long> before = subject.cpuNow();
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
                      subject.script.toString(),
                      "http://" + subject.address))
              .redirectErrorStream(true)
              .start();
    } catch (IOException missing) {
      out.println("wrk is not on PATH: HTTP was not measured");
      return 0;
    }
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    double perSecond = number(RATE, text) * subject.callsOfARequest;
    double calls = number(REQUESTS, text) * subject.callsOfARequest;
    if (tell) {
      out.printf(
          "%-32s %,10.0f calls/s   p50 %s   p99 %s   CPU a call:%s%s%n",
          subject.name,
          perSecond,
          percentile(text, "50%"),
          percentile(text, "99%"),
          subject.cpuSince(before, calls),
          failures(text));
    }
    return perSecond;
  }

  private static double number(Pattern pattern, String text) {
    Matcher value = pattern.matcher(text);
    return value.find() ? Double.parseDouble(value.group(1)) : 0;
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
