// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.WeirProcess;
import io.weir.e2e.samples.Customers.Call;
import io.weir.e2e.samples.Customers.Period;
import io.weir.e2e.samples.Programs.Ended;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * The samples bill what callers were answered, though they are killed and started again.
 *
 * <p>Once, the billing job in the README printed an empty bill after a restart, since its offsets
 * were kept and its sums were not, and added calls to bytes.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class SamplesIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Path SAMPLES = Checkout.file("clients/samples");
  private static final Duration WINDOW = Duration.ofSeconds(1);
  // half an hour off, and so beside every window of an hour
  private static final ZoneId ZONE = ZoneId.of("Asia/Kolkata");
  private static final int NOT_READY = 3;
  private static final Map<String, String> PRICES = Map.of("bytes", "0.00000003", "calls", "0.002");
  private static final Map<String, String> UNITS = Map.of("bytes", "bytes", "calls", "call");

  private Path folder;
  private WeirProcess weir;
  private String url;
  private String kafka;
  private Programs programs;

  @BeforeAll
  void start(@TempDir Path temporary) throws Exception {
    folder = temporary;
    int httpPort = Ports.free();
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
        """
        policies:
          - name: tight
            match: {endpoint: ["GET /v1/limited"]}
            limit: {algorithm: token-bucket, capacity: 10, refill_tokens: 1, refill_period: P1D}
        """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_HTTP_PORT", Integer.toString(httpPort));
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_KAFKA_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_REDIS_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_WINDOW", WINDOW.toString());
    environment.put("WEIR_GRACE", "PT1S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    weir = WeirProcess.start(folder, environment, "up");
    weir.awaitLine("weir is ready");
    kafka = weir.awaitLine("Kafka      ");
    programs = new Programs(folder, kafka);
    url = "http://127.0.0.1:" + httpPort;
  }

  @AfterAll
  void stop() {
    if (weir != null) {
      weir.close();
    }
  }

  @Test
  void billingPy_killedAndStartedAgain_invoicesWhatCallersWereAnswered() throws Exception {
    String python = programs.python();
    List<String> job =
        List.of(
            python,
            SAMPLES.resolve("billing.py").toString(),
            "--db",
            folder.resolve("billing.db").toString());
    Customers customers = new Customers(url, WINDOW);

    Period first = customers.period("acme", "globex");
    Ended early = run(invoice(job, "acme", first));
    assertEquals(NOT_READY, early.status(), early::errors);
    killWhenItHasKeptSome(with(job, "follow"));
    String acme = awaitInvoice(job, "acme", first);
    String globex = awaitInvoice(job, "globex", first);
    assertLines(first.quantities("acme"), acme);
    assertLines(first.quantities("globex"), globex);

    // the invoices are out when calls of their windows turn out to cost something else
    Call dearer = first.first("acme", "bytes");
    customers.settle(dearer, dearer.cost() + 7);
    Call voided = first.first("globex", "calls");
    customers.settle(voided, 0);

    Period second = customers.period("acme", "globex");
    killWhenItHasKeptSome(with(job, "follow"));
    String later = awaitInvoice(job, "acme", second);
    assertLines(second.quantities("acme"), later);
    assertEquals(List.of("bytes SETTLE 7"), adjustments(later, first));
    assertEquals(List.of("calls VOID -1"), adjustments(awaitInvoice(job, "globex", second), first));

    Period third = customers.period("acme", "globex");
    String last = awaitInvoice(job, "acme", third);
    assertLines(third.quantities("acme"), last);
    assertEquals(List.of(), adjustments(last, first));

    assertEquals(acme, run(invoice(job, "acme", first)).output(), "the invoice stands");
    assertEquals(later, run(invoice(job, "acme", second)).output(), "the invoice stands");
    Ended overlap = run(invoice(job, "acme", new Period(first.from(), second.to(), List.of())));
    assertEquals(2, overlap.status(), overlap::output);
    assertTrue(overlap.errors().contains("overlaps invoice"), overlap::errors);
    Ended tomorrow = run(invoice(job, "acme", untilTomorrow(third)));
    assertEquals(NOT_READY, tomorrow.status(), tomorrow::output);
    assertTrue(tomorrow.errors().contains("not ready: partition"), tomorrow::errors);

    assertFalse(last.contains("NOT COMPLETE"), last);
    markIncomplete(folder.resolve("billing.db"), "globex");
    Ended draft = run(draft(job, "globex", third));
    assertLines(third.quantities("globex"), draft.output());
    assertTrue(draft.output().startsWith("DRAFT: globex"), draft::output);
    assertTrue(draft.output().contains("NOT COMPLETE: calls may be missing"), draft::output);

    // the second invoice bills an adjustment of the first period; no other may bill it again
    String number = numberOf(acme);
    Ended taken = run(with(job, "void", number));
    assertEquals(0, taken.status(), taken::errors);
    assertEquals(2, run(with(job, "void", number)).status(), "void already");
    Ended again = run(invoice(job, "acme", first));
    assertEquals(0, again.status(), again::errors);
    assertNotEquals(number, numberOf(again.output()));
    assertLines(first.quantities("acme"), again.output());
    assertEquals(List.of(), adjustments(again.output(), first));
    assertEquals(later, run(invoice(job, "acme", second)).output(), "the other one stands");
  }

  /** Lets rows say what they say when a node was silent for longer than the hold. */
  private static void markIncomplete(Path file, String client) throws SQLException {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + file);
        PreparedStatement mark =
            db.prepareStatement("UPDATE usage SET complete = 0 WHERE client = ?")) {
      mark.setString(1, client);
      assertTrue(mark.executeUpdate() > 0);
    }
  }

  @Test
  void billingJob_killedAndStartedAgain_billsWhatCallersWereAnswered() throws Exception {
    Map<String, String> environment =
        Map.of("WEIR_KAFKA", kafka, "BILLING_DB", folder.resolve("billing-java.db").toString());
    Customers customers = new Customers(url, WINDOW);

    Period first = customers.period("initech", "umbrella");
    try (WeirProcess follow = javaJob(environment, "follow")) {
      follow.awaitLine("kept ");
      follow.kill();
    }
    Period second = customers.period("initech", "umbrella");

    for (Period period : List.of(second, first)) {
      List<String> bill = awaitBill(environment, period);
      for (String client : List.of("initech", "umbrella")) {
        Map<String, Long> billed = new TreeMap<>();
        for (String line : bill) {
          String[] cells = line.split("\t", -1);
          if (cells[0].equals(client)) {
            billed.put(cells[1], Long.parseLong(cells[2]));
          }
        }
        assertEquals(period.quantities(client), billed);
      }
    }
  }

  @Test
  void ledgerSh_showsEachRowWithItsWindow() throws Exception {
    assumeTrue(
        programs.succeeds("kcat", "-V") && programs.succeeds("jq", "--version"),
        "kcat and jq are not installed: apt-get install kcat jq");
    Period period = new Customers(url, WINDOW).period("hooli");

    List<JsonNode> rows = new ArrayList<>();
    Await.until(
        () -> "the calls in " + rows,
        () -> {
          rows.clear();
          Ended ledger = run(List.of(SAMPLES.resolve("ledger.sh").toString(), kafka));
          assertEquals(0, ledger.status(), ledger::errors);
          for (String line : ledger.output().lines().toList()) {
            rows.add(JSON.readTree(line));
          }
          return period.quantities("hooli").equals(sums(rows, "hooli"));
        });

    for (JsonNode row : rows) {
      Instant from = Instant.parse(row.path("from").asText());
      assertEquals(from.plus(WINDOW), Instant.parse(row.path("to").asText()));
      assertTrue(row.path("record_type").asText().matches("FINAL|ADJUSTMENT"), row::toString);
      assertFalse(row.path("endpoint").asText().isEmpty(), row::toString);
    }
  }

  private static Map<String, Long> sums(List<JsonNode> rows, String client) {
    Map<String, Long> sums = new TreeMap<>();
    for (JsonNode row : rows) {
      if (row.path("client").asText().equals(client)) {
        sums.merge(row.path("meter").asText(), row.path("quantity").asLong(), Long::sum);
      }
    }
    return sums;
  }

  // ---- billing.py

  private void killWhenItHasKeptSome(List<String> command) throws Exception {
    try (WeirProcess follow = program(command)) {
      follow.awaitLine("kept ");
      follow.kill();
    }
  }

  /** Returns the number of an invoice. */
  private static String numberOf(String invoice) {
    return invoice.substring("invoice ".length(), invoice.indexOf(':'));
  }

  private static List<String> invoice(List<String> job, String client, Period period) {
    return with(draft(job, client, period), "--issue");
  }

  private static List<String> draft(List<String> job, String client, Period period) {
    List<String> command = with(job, "invoice", "--client", client, "--tz", ZONE.toString());
    command.addAll(List.of("--from", local(period.from()), "--to", local(period.to())));
    PRICES.forEach((meter, price) -> command.addAll(List.of("--price", meter + "=" + price)));
    return command;
  }

  private String awaitInvoice(List<String> job, String client, Period period) throws Exception {
    Ended[] last = new Ended[1];
    Await.until(
        () -> "an invoice: " + last[0],
        () -> {
          Ended follow = run(with(job, "follow", "--until-end"));
          assertEquals(0, follow.status(), follow::errors);
          last[0] = run(invoice(job, client, period));
          return last[0].status() != NOT_READY;
        });
    assertEquals(0, last[0].status(), last[0]::errors);
    return last[0].output();
  }

  /** The lines of the meters, and nothing else but adjustments, say these quantities. */
  private static void assertLines(Map<String, Long> quantities, String invoice) {
    Map<String, Long> told = new TreeMap<>();
    BigDecimal total = BigDecimal.ZERO;
    for (String[] cells : cells(invoice)) {
      String meter = cells[0].split(" ", 2)[0];
      BigDecimal price = new BigDecimal(PRICES.get(meter));
      assertEquals(UNITS.get(meter), cells[2], invoice);
      assertEquals(0, price.compareTo(new BigDecimal(cells[3])), invoice);
      BigDecimal amount = new BigDecimal(cells[1]).multiply(price);
      assertEquals(0, amount.compareTo(new BigDecimal(cells[4])), invoice);
      total = total.add(amount);
      if (cells[0].equals(meter)) {
        told.put(meter, Long.valueOf(cells[1]));
      }
    }
    assertEquals(quantities, told, invoice);
    String[] sum =
        invoice
            .lines()
            .filter(line -> line.startsWith("total "))
            .findFirst()
            .orElse("")
            .split(" +", -1);
    assertEquals(0, total.compareTo(new BigDecimal(sum[1])), invoice);
  }

  /** Meter, reason and quantity of each adjustment, all of which must be of windows of a period. */
  private static List<String> adjustments(String invoice, Period of) {
    List<String> found = new ArrayList<>();
    for (String[] cells : cells(invoice)) {
      String[] words = cells[0].split(" ", -1);
      if (words.length > 1) {
        String[] times = words[2].split("/", -1);
        Instant begin = ZonedDateTime.parse(times[0]).toInstant();
        assertEquals(begin.plus(WINDOW), ZonedDateTime.parse(times[1]).toInstant(), invoice);
        assertFalse(begin.isBefore(of.from()) || !begin.isBefore(of.to()), invoice);
        found.add(words[0] + " " + words[1] + " " + cells[1]);
      }
    }
    return found;
  }

  /** The lines between the head of the table and the total. */
  private static List<String[]> cells(String invoice) {
    return invoice
        .lines()
        .dropWhile(line -> !line.startsWith("line "))
        .skip(1)
        .takeWhile(line -> !line.startsWith("total "))
        .map(line -> line.split(" {2,}", -1))
        .toList();
  }

  private static Period untilTomorrow(Period period) {
    Instant end = LocalDateTime.parse(local(period.to())).plusDays(1).atZone(ZONE).toInstant();
    return new Period(period.to(), end, List.of());
  }

  private static String local(Instant time) {
    return time.atZone(ZONE).toLocalDateTime().toString();
  }

  // ---- BillingJob

  private WeirProcess javaJob(Map<String, String> environment, String... arguments)
      throws IOException {
    return WeirProcess.startMain(folder, environment, "BillingJob", arguments);
  }

  private List<String> awaitBill(Map<String, String> environment, Period period) throws Exception {
    Ended[] last = new Ended[1];
    String[] bill = {"bill", local(period.from()), local(period.to()), ZONE.toString()};
    Await.until(
        () -> "a bill: " + last[0],
        () -> {
          try (WeirProcess follow = javaJob(environment, "follow", "--until-end")) {
            assertEquals(0, follow.awaitExit(), follow::errors);
          }
          last[0] = Programs.ended(javaJob(environment, bill));
          return last[0].status() != NOT_READY;
        });
    assertEquals(0, last[0].status(), last[0]::errors);
    return last[0].output().lines().toList();
  }

  // ---- programs

  private WeirProcess program(List<String> command) throws IOException {
    return WeirProcess.startProgram(folder, Map.of("WEIR_KAFKA", kafka), command);
  }

  private Ended run(List<String> command) throws Exception {
    return programs.run(command);
  }

  private static List<String> with(List<String> command, String... arguments) {
    List<String> all = new ArrayList<>(command);
    all.addAll(List.of(arguments));
    return all;
  }
}
