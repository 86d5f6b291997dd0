// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.billing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.WeirProcess;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The command exports a ledger to a server that enforces Stripe's rules and fails in between, and
 * is killed with -9 twice.
 */
final class ExportStripeIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int HAS_KEPT = 3;

  @TempDir private Path folder;

  private final long now = System.currentTimeMillis() / 900_000 * 900_000;
  private final Map<String, Long> exportable = new TreeMap<>();
  private final Map<String, String> unexportable = new TreeMap<>();

  @Test
  void killedTwice_everyExportableRowArrivesOnce_andTheOthersAreKept() throws Exception {
    try (TestKafka kafka = TestKafka.borrow();
        WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers());
        StripeStub stripe = new StripeStub(Set.of("api_calls"))) {
      ledger.write(rows());
      writeMapping("");
      dryRun(kafka);

      killWhenItHasSent(60, kafka, stripe);
      killWhenItHasSent(140, kafka, stripe);
      assertTrue(stripe.taken().size() < exportable.size(), "it was meant to be killed before");
      Ended end = ended(run(kafka, stripe));

      assertEquals(HAS_KEPT, end.status(), end::errors);
      assertEquals(exportable, values(stripe));
      assertEquals(unexportable, kept());
      assertFalse((end.output() + end.errors()).contains(StripeStub.KEY), "the key is secret");
      assertTrue(stripe.answers().keySet().containsAll(Set.of(0, 200, 400, 429, 500, 502)));

      againAndAgain(kafka, stripe, ledger);
      keptRowsAreSent(kafka, stripe);
    }
  }

  /** Regression: rows below the old offset of a recreated topic were skipped silently. */
  @Test
  void topicRecreatedWithMoreRows_everyRowArrivesOnce() throws Exception {
    try (TestKafka kafka = TestKafka.borrow();
        StripeStub stripe = new StripeStub(Set.of("api_calls"))) {
      writeMapping("");
      try (WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers())) {
        ledger.write(windows(20, 16));
      }
      Ended first = ended(run(kafka, stripe, "--since", since()));
      assertEquals(0, first.status(), first::errors);
      assertEquals(40, stripe.taken().size());

      WrittenLedger.lose(kafka.bootstrapServers());
      try (WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers())) {
        ledger.write(windows(17, 9));
      }
      Ended second = ended(run(kafka, stripe));

      assertEquals(0, second.status(), second::errors);
      assertEquals(exportable, values(stripe));
      assertEquals(110, exportable.size());
      assertTrue(second.errors().contains("the ledger topic was recreated"), second::errors);
      assertTrue(second.output().startsWith("sent 70 events"), second::output);
      Ended third = ended(run(kafka, stripe));
      assertTrue(third.output().startsWith("sent 0 events"), third::output);
    }
  }

  /** Ten rows a window, and its CLOSE. */
  private List<LedgerRow> windows(int from, int to) {
    List<LedgerRow> rows = new ArrayList<>();
    for (int window = from; window > to; window--) {
      long start = now - window * WrittenLedger.WINDOW.toMillis();
      for (int i = 0; i < 10; i++) {
        send(rows, WrittenLedger.row("client" + i % 4, "calls", "GET /" + i, start, 1L + i));
      }
      rows.addAll(WrittenLedger.closes(start + WrittenLedger.WINDOW.toMillis()));
    }
    return rows;
  }

  /** Rows of 20 windows and 4 clients, and each kind that cannot be sent. */
  private List<LedgerRow> rows() {
    List<LedgerRow> rows = new ArrayList<>();
    for (int window = 20; window > 0; window--) {
      long start = now - window * WrittenLedger.WINDOW.toMillis();
      for (int i = 0; i < 12; i++) {
        UsageRow row =
            WrittenLedger.row("client" + i % 4, "calls", "GET /" + i, start, 1L + window + i);
        send(rows, row);
        if (i == window % 12) {
          send(rows, WrittenLedger.adjusted(row, 5, now - 1_000));
          keep(rows, "NEGATIVE", WrittenLedger.adjusted(rowAfter(row), -2, now - 500));
        }
      }
      keep(rows, "UNMAPPED_CLIENT", WrittenLedger.row("hooli", "calls", "-", start, 7));
      rows.add(WrittenLedger.row("client0", "seats", "-", start, 9)); // not billed
      rows.addAll(WrittenLedger.closes(start + WrittenLedger.WINDOW.toMillis()));
    }
    keep(rows, "UNMAPPED_METER", WrittenLedger.row("client1", "bytes", "-", now, 7));
    long old = now - Duration.ofDays(36).toMillis();
    // of a window that was closed long ago, so it stands in the partition's first place
    UsageRow tooOld = WrittenLedger.row("client2", "calls", "-", old, 7);
    unexportable.put(tooOld.recordId(), "TOO_OLD");
    rows.add(0, tooOld);
    return rows;
  }

  /** The adjustment with which another one goes on. */
  private static UsageRow rowAfter(UsageRow row) {
    return WrittenLedger.adjusted(row, 5, 0);
  }

  private void send(List<LedgerRow> rows, UsageRow row) {
    rows.add(row);
    exportable.put(row.recordId(), row.count().quantity());
  }

  private void keep(List<LedgerRow> rows, String reason, UsageRow row) {
    rows.add(row);
    unexportable.put(row.recordId(), reason);
  }

  /** Nothing more is sent: neither when it is run again, nor when the aggregator counts anew. */
  private void againAndAgain(TestKafka kafka, StripeStub stripe, WrittenLedger ledger)
      throws Exception {
    int calls = stripe.answers().values().stream().mapToInt(Integer::intValue).sum();
    ledger.write(rows());
    Ended again = ended(run(kafka, stripe));

    assertEquals(0, again.status(), again::errors);
    assertTrue(again.output().startsWith("sent 0 events; not sent: "), again::output);
    assertTrue(again.output().contains("rows that were exported before"), again::output);
    assertEquals(calls, stripe.answers().values().stream().mapToInt(Integer::intValue).sum());
  }

  /** The mapping names the client then. */
  private void keptRowsAreSent(TestKafka kafka, StripeStub stripe) throws Exception {
    writeMapping(", hooli: cus_5");
    Path again = folder.resolve("again");
    Files.move(folder.resolve("stripe.state.kept"), again);
    Ended resent = ended(run(kafka, stripe, "--rows", again.toString()));

    assertEquals(HAS_KEPT, resent.status(), resent::errors);
    unexportable.entrySet().removeIf(row -> row.getValue().equals("UNMAPPED_CLIENT"));
    assertEquals(unexportable, kept());
    assertEquals(exportable.size() + 20, stripe.taken().size());
    Ended twice = ended(run(kafka, stripe, "--rows", again.toString()));
    assertTrue(twice.output().startsWith("sent 0 events; kept "), twice::output);
    assertTrue(
        twice.output().contains("not sent: 20 rows that were exported before"), twice::output);
  }

  private void dryRun(TestKafka kafka) throws Exception {
    Ended dry = ended(start(kafka, Map.of(), "--since", since(), "--dry-run"));
    assertEquals(HAS_KEPT, dry.status(), dry::errors);
    Set<String> told = new TreeSet<>();
    for (String line : dry.output().lines().filter(line -> line.startsWith("{")).toList()) {
      told.add(JSON.readTree(line).path("identifier").asText());
    }
    assertEquals(exportable.keySet(), told);
    assertFalse(Files.exists(folder.resolve("stripe.state")));
  }

  private void killWhenItHasSent(int events, TestKafka kafka, StripeStub stripe) throws Exception {
    try (WeirProcess export = run(kafka, stripe, "--since", since())) {
      Await.until(
          () -> events + " events, of " + stripe.answers() + export.errors(),
          () -> stripe.taken().size() >= events);
      export.kill();
    }
  }

  private String since() {
    return Instant.ofEpochMilli(now).minus(Duration.ofDays(40)).toString();
  }

  private WeirProcess run(TestKafka kafka, StripeStub stripe, String... more) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("--url", stripe.url()));
    arguments.addAll(List.of(more));
    return start(
        kafka, Map.of("WEIR_STRIPE_KEY", StripeStub.KEY), arguments.toArray(String[]::new));
  }

  private WeirProcess start(TestKafka kafka, Map<String, String> variables, String... more)
      throws Exception {
    Map<String, String> environment = new TreeMap<>(variables);
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    List<String> arguments = new ArrayList<>(List.of("export", "stripe"));
    arguments.addAll(List.of("--mapping", folder.resolve("stripe.yml").toString()));
    arguments.addAll(List.of("--state", folder.resolve("stripe.state").toString()));
    arguments.addAll(List.of(more));
    return WeirProcess.start(folder, environment, arguments.toArray(String[]::new));
  }

  private record Ended(int status, String output, String errors) {}

  private static Ended ended(WeirProcess started) throws Exception {
    try (WeirProcess process = started) {
      int status = process.awaitExit();
      return new Ended(status, String.join("\n", process.output()), process.errors());
    }
  }

  private void writeMapping(String more) throws Exception {
    Files.writeString(
        folder.resolve("stripe.yml"),
        """
        customers: {client0: cus_0, client1: cus_1, client2: cus_2, client3: cus_3%s}
        meters: {calls: api_calls}
        not_billed: {meters: [seats]}
        """
            .formatted(more));
  }

  private static Map<String, Long> values(StripeStub stripe) {
    Map<String, Long> values = new TreeMap<>();
    stripe
        .taken()
        .forEach((id, event) -> values.put(id, Long.parseLong(event.get("payload[value]"))));
    return values;
  }

  /** Reasons by record_id; a row may stand twice, since the process was killed. */
  private Map<String, String> kept() throws Exception {
    Map<String, String> reasons = new TreeMap<>();
    for (String line : Files.readAllLines(folder.resolve("stripe.state.kept"))) {
      JsonNode kept = JSON.readTree(line);
      reasons.put(kept.path("row").path("record_id").asText(), kept.path("reason").asText());
    }
    return reasons;
  }
}
