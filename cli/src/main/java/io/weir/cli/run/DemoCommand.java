// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.run;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.access.AccessSettings;
import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Terminal;
import io.weir.cli.verify.Verification;
import io.weir.cli.verify.Verifier;
import io.weir.cli.verify.VerifyCommand;
import io.weir.servers.DataFolder;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Runs the whole pipeline for half a minute on temporary data. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description = {
      "Show the whole pipeline on temporary data.",
      "Starts all servers on free ports with an empty folder (WEIR_DATA/demo) and sends real HTTP "
          + "calls of several clients. Shows a denied call, a usage report and ledger rows, then "
          + "verifies the ledger. Exits with 0 only if all figures agree."
    })
public final class DemoCommand implements Callable<Integer> {
  private static final Duration DECISION_DEADLINE = Duration.ofSeconds(2);
  private static final Duration WINDOW = Duration.ofSeconds(5);
  private static final Duration GRACE = Duration.ofSeconds(2);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(60);
  private static final int LEDGER_ROWS_SHOWN = 6;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Delays the creation of the client, because every command line creates this command. */
  private static final class Http {
    static final HttpClient CLIENT = HttpClient.newHttpClient();
  }

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--json",
      description = "print one JSON object on standard output, everything else on standard error")
  private boolean json;

  @Option(
      names = "--seconds",
      defaultValue = "20",
      paramLabel = "N",
      description = "seconds for which calls are sent, 1 to 3600 (${DEFAULT-VALUE})")
  private int seconds = 20;

  @Override
  public Integer call() throws Exception {
    if (seconds < 1 || seconds > 3_600) {
      throw terminal.wrong("--seconds must be 1 to 3600, but is " + seconds);
    }
    PrintWriter out = json ? terminal.err() : terminal.out();
    Map<String, String> environment = demoEnvironment();
    try (LocalWeir local =
        LocalWeir.start(
            environment,
            step -> {
              out.println("starting " + step);
            },
            stopping -> {})) {
      local.awaitReady();
      return run(local, out);
    }
  }

  private Map<String, String> demoEnvironment() throws IOException {
    Path data = Path.of(terminal.weir().setting("WEIR_DATA", ".weir")).resolve("demo");
    deleteIfNotInUse(data);
    Files.createDirectories(data);
    Path policies = data.resolve("policies.yml");
    try (InputStream bundled = DemoCommand.class.getResourceAsStream("demo-policies.yml")) {
      if (bundled == null) {
        throw new IllegalStateException("demo-policies.yml is missing in the jar");
      }
      Files.copy(bundled, policies);
    }
    Map<String, String> environment = new HashMap<>(terminal.weir().environment());
    environment.put("WEIR_DATA", data.toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_WINDOW", WINDOW.toString());
    environment.put("WEIR_GRACE", GRACE.toString());
    // the demo shows that the figures agree on any machine; benchmarks measure the speed
    environment.putIfAbsent("WEIR_DECISION_DEADLINE", DECISION_DEADLINE.toString());
    for (String port :
        new String[] {
          "WEIR_HTTP_PORT", "WEIR_REPORTS_PORT", "WEIR_KAFKA_PORT", "WEIR_REDIS_PORT"
        }) {
      environment.putIfAbsent(port, "0");
    }
    // the demo uses only its own embedded servers
    environment.remove(KafkaConnection.VARIABLE);
    environment.keySet().removeIf(KafkaConnection::isProperty);
    environment.remove("WEIR_REDIS");
    environment.keySet().removeIf(AccessSettings::isVariable);
    return environment;
  }

  /** Deletes the data of an earlier demo, but not while another demo is running on these data. */
  private static void deleteIfNotInUse(Path data) throws IOException {
    if (!Files.exists(data)) {
      return;
    }
    DataFolder.open(data).close();
    try (Stream<Path> paths = Files.walk(data)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  private int run(LocalWeir local, PrintWriter out) throws Exception {
    Instant begun = Instant.now();
    DemoLoad load = new DemoLoad(local.checkUrl());
    sendCalls(load);
    Instant ended = Instant.now();
    showAnswers(out, load);
    showDenied(out, load);
    awaitClosed(local, ended);
    Instant from = floor(begun);
    Instant to = floor(ended).plus(WINDOW);
    boolean reportsAgree = showReports(out, local, load, from, to);
    LedgerListing ledger = LedgerListing.read(local.kafka(), LEDGER_ROWS_SHOWN);
    showLedger(out, ledger);
    out.println();
    out.println("== weir verify --from " + from + " --to " + to);
    Verification found =
        new Verifier(local.kafka(), WINDOW, Topics.LATENESS, CLOSE_TIMEOUT)
            .verify(from, to, null, (what, done, total) -> {});
    VerifyCommand.print(out, found);
    boolean agrees =
        load.unexpected() == 0
            && load.denied() > 0
            && reportsAgree
            && found.outcome() == Verification.Outcome.EQUAL
            && ledger.allowed() == load.allowed()
            && ledger.denied() == load.denied();
    out.println();
    out.println(
        agrees
            ? "all figures agree: the responses to callers, the reports, the ledger and the recount"
            : "FIGURES DIFFER: callers received "
                + load.allowed()
                + " allowed, "
                + load.denied()
                + " denied, "
                + load.unexpected()
                + " unexpected; the ledger says "
                + ledger.allowed()
                + " and "
                + ledger.denied());
    if (json) {
      printJson(load, ledger, found);
    }
    return agrees ? 0 : 1;
  }

  private void printJson(DemoLoad load, LedgerListing ledger, Verification found)
      throws IOException {
    Map<String, Object> closing = new LinkedHashMap<>();
    closing.put("calls_sent", load.allowed() + load.denied() + load.unexpected());
    closing.put("allowed", load.allowed());
    closing.put("denied", load.denied());
    closing.put("ledger_allowed", ledger.allowed());
    closing.put("ledger_denied", ledger.denied());
    closing.put("verify_differences", found.differenceCount());
    terminal.out().println(JSON.writeValueAsString(closing));
  }

  private void sendCalls(DemoLoad load) throws InterruptedException {
    try (ProgressBar bar = bar("sending calls", seconds * 1_000L)) {
      load.run(Duration.ofSeconds(seconds), bar::stepTo);
      bar.stepTo(seconds * 1_000L);
    }
  }

  private static ProgressBar bar(String task, long max) {
    return Bars.named(task).setInitialMax(max).setUnit(" s", 1_000).build();
  }

  private static void showAnswers(PrintWriter out, DemoLoad load) {
    out.println();
    out.println("== responses to callers");
    load.answers()
        .forEach(
            (client, of) ->
                out.printf(
                    "%-8s 200 %5d times, 429 %5d times%n",
                    client, of.allowed.sum(), of.denied.sum()));
  }

  private static void showDenied(PrintWriter out, DemoLoad load) {
    HttpResponse<String> denied = load.firstDenied();
    if (denied == null) {
      return;
    }
    out.println();
    out.println("== a denied call");
    out.println("HTTP " + denied.statusCode());
    denied
        .headers()
        .map()
        .forEach((name, values) -> values.forEach(value -> out.println(name + ": " + value)));
    out.println();
    out.println(denied.body());
  }

  private void awaitClosed(LocalWeir local, Instant ended)
      throws IOException, InterruptedException {
    long deadline = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
    Instant boundary = floor(ended).plus(WINDOW);
    long toWait = Duration.between(ended, boundary.plus(GRACE)).toMillis() + 2_000;
    long begun = System.nanoTime();
    try (ProgressBar bar = bar("closing windows", toWait)) {
      while (!closedThrough(local).isAfter(boundary.minusMillis(1))) {
        if (System.nanoTime() > deadline) {
          throw new CommandFailedException(
              "the windows were not closed within "
                  + CLOSE_TIMEOUT.toSeconds()
                  + " s; /v1/completeness returns "
                  + completeness(local));
        }
        bar.stepTo(Math.min(toWait, (System.nanoTime() - begun) / 1_000_000));
        TimeUnit.MILLISECONDS.sleep(100);
      }
      bar.stepTo(toWait);
    }
  }

  private String completeness(LocalWeir local) throws IOException, InterruptedException {
    return get(local.reportsUrl() + "/v1/completeness");
  }

  private Instant closedThrough(LocalWeir local) throws IOException, InterruptedException {
    Instant least = Instant.MAX;
    for (JsonNode partition : JSON.readTree(completeness(local)).path("partitions")) {
      JsonNode closed = partition.path("closed_through");
      Instant through = closed.isTextual() ? Instant.parse(closed.textValue()) : Instant.EPOCH;
      least = through.isBefore(least) ? through : least;
    }
    return least.equals(Instant.MAX) ? Instant.EPOCH : least;
  }

  private boolean showReports(
      PrintWriter out, LocalWeir local, DemoLoad load, Instant from, Instant to)
      throws IOException, InterruptedException {
    boolean agree = true;
    boolean first = true;
    for (Map.Entry<String, DemoLoad.Answers> of : load.answers().entrySet()) {
      String query =
          "/v1/usage?client="
              + of.getKey()
              + "&from="
              + from
              + "&to="
              + to
              + "&window=total&group_by=endpoint";
      String report = get(local.reportsUrl() + query);
      if (first) {
        out.println();
        out.println("== GET " + query);
        out.println(JSON.readTree(report).toPrettyString());
        first = false;
      }
      long allowed = 0;
      long denied = 0;
      for (JsonNode row : JSON.readTree(report).path("data")) {
        allowed += row.path("allowed").asLong();
        denied += row.path("denied").asLong();
      }
      agree &= allowed == of.getValue().allowed.sum() && denied == of.getValue().denied.sum();
    }
    return agree;
  }

  private static void showLedger(PrintWriter out, LedgerListing ledger) {
    out.println();
    out.println("== weir.usage.ledger.v1, the first rows of " + ledger.rows());
    ledger.firstRows().forEach(out::println);
  }

  private String get(String url) throws IOException, InterruptedException {
    HttpResponse<String> response =
        Http.CLIENT.send(
            HttpRequest.newBuilder(URI.create(url)).GET().build(),
            HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new CommandFailedException(
          "GET " + url + " returned " + response.statusCode() + ": " + response.body());
    }
    return response.body();
  }

  private static Instant floor(Instant time) {
    long millis = time.toEpochMilli();
    return Instant.ofEpochMilli(millis - millis % WINDOW.toMillis());
  }
}
