// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.weir.e2e.WeirProcess;
import io.weir.e2e.samples.Programs.Ended;
import io.weir.limits.BillingPeriod;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.LedgerRowCodec;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@code billing.py} on ledgers that a short load does not create. */
final class BillingPyIT {
  private static final Instant HOUR = Instant.parse("2026-11-01T00:00:00Z");
  private static final int WINDOW_MILLIS = 3_600_000;
  private static final int ROWS = 1_100;

  /** Half an hour off, and so beside every window of an hour. */
  private static final String BESIDE = "Asia/Kolkata";

  /** Room for an empty SQLite file and its index of shared memory, but not for the rows. */
  private static final int MAX_FILE_KIBIBYTES = 64;

  private final TestKafka kafka = TestKafka.borrow();
  @TempDir private Path folder;
  private Programs programs;
  private List<String> job;

  @BeforeEach
  void createTopics() throws Exception {
    programs = new Programs(folder, kafka.bootstrapServers());
    String sample = Checkout.file("clients/samples/billing.py").toString();
    job = List.of(programs.python(), sample, "--db", database().toString());
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
  }

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  @Test
  void invoice_meterOfDeniedCallsOnly_needsNoPrice() throws Exception {
    write(row("acme", "calls", "-", 19, 0), row("acme", "seats", "-", 0, 3), close());
    follow();

    Ended invoice = invoice("acme", "UTC", "--price", "calls=0.002");

    assertEquals(0, invoice.status(), invoice::errors);
    assertEquals(
        List.of("calls 19 call 0.002 0.038", "seats 0 seats - 0", "total 0.038"),
        invoice.output().lines().skip(2).map(line -> line.replaceAll(" +", " ")).toList());
  }

  @Test
  void invoice_clientWithoutRows_isHeldToTheWindowsOfTheOthers() throws Exception {
    write(row("acme", "calls", "-", 19, 0), close());
    follow();

    for (String client : List.of("acme", "globex")) {
      Ended beside = invoice(client, BESIDE);
      assertEquals(2, beside.status(), beside::output);
      assertTrue(beside.errors().contains("a window of the ledger (of 3600 s)"), beside::errors);
    }
    Ended aligned = invoice("globex", "UTC");
    assertEquals(0, aligned.status(), aligned::errors);
    assertTrue(aligned.output().contains("no usage"), aligned::output);
    assertTrue(aligned.errors().contains("no row of a client 'globex'"), aligned::errors);
  }

  /** Regression: the invoice of a client whose calls were all lost said "no usage" and no more. */
  @Test
  void invoice_windowClosedIncomplete_saysSoForClientsWithoutRows() throws Exception {
    long hour = HOUR.toEpochMilli();
    write(
        row("acme", "calls", "-", 19, 0),
        new CloseRow(0, hour + WINDOW_MILLIS, 1, 19, true, 0),
        new CloseRow(0, hour + 2 * WINDOW_MILLIS, 0, 0, false, 0),
        close());
    follow();

    Ended invoice = invoice("globex", "UTC");
    assertEquals(0, invoice.status(), invoice::errors);
    String gap = "2026-11-01T01:00:00+00:00 and 2026-11-01T02:00:00+00:00";
    assertTrue(invoice.output().contains("NOT COMPLETE"), invoice::output);
    assertTrue(invoice.output().contains(gap), invoice::output);

    Map<String, String> environment =
        Map.of(
            "WEIR_KAFKA", kafka.bootstrapServers(),
            "BILLING_DB", folder.resolve("billing-java.db").toString());
    for (String[] arguments :
        List.of(
            new String[] {"follow", "--until-end"},
            new String[] {"bill", "2026-11-01", "2026-11-02", "UTC"})) {
      try (WeirProcess java = WeirProcess.startMain(folder, environment, "BillingJob", arguments)) {
        assertEquals(0, java.awaitExit(), java::errors);
        boolean isBill = arguments[0].equals("bill");
        assertEquals(isBill, java.errors().contains("not complete"), java::errors);
      }
    }
  }

  /** Regression: 30 of 70 new rows were skipped, with status 0. */
  @Test
  void follow_topicRecreatedWithMoreRows_keepsEachRowOnce_andWhatIsIncomplete() throws Exception {
    long closed = HOUR.toEpochMilli() + WINDOW_MILLIS;
    write(endpoints(0, 40, new CloseRow(0, closed, 40, 40, true, 0)));
    follow();
    assertEquals("40", java("follow", "--until-end", "SELECT count(*) FROM usage"));

    recreateLedger();
    write(endpoints(30, 110, new CloseRow(0, closed, 80, 80, false, 0)));
    Ended again = run("follow", "--until-end");

    assertEquals(0, again.status(), again::errors);
    assertTrue(again.errors().contains("the topic was recreated"), again::errors);
    assertEquals(110, count("SELECT count(*) FROM usage"));
    assertEquals(closed, count("SELECT closed_through_ms FROM partitions"));
    assertEquals(1, count("SELECT count(*) FROM gaps"));
    assertEquals("110", java("follow", "--until-end", "SELECT count(*) FROM usage"));
    assertEquals("1", java("follow", "--until-end", "SELECT count(*) FROM gaps"));
    Ended third = run("follow", "--until-end");
    assertEquals("", third.errors());
  }

  /** Regression: rows that only the lost topic had were missing on an invoice that was complete. */
  @Test
  void follow_topicRecreatedWithoutTheNextRows_recordsTheGap() throws Exception {
    long closed = HOUR.toEpochMilli() + WINDOW_MILLIS;
    write(row("acme", "calls", "-", 19, 0), new CloseRow(0, closed, 1, 19, true, 0));
    follow();
    String gaps = "SELECT number || ' ' || from_ms || ' ' || to_ms FROM gaps";
    assertEquals("0", java("follow", "--until-end", "SELECT count(*) FROM gaps"));
    recreateLedger();
    write(new CloseRow(0, closed + 2 * WINDOW_MILLIS, 0, 0, true, 0), close());

    Ended again = run("follow", "--until-end");

    assertTrue(again.errors().contains("may be missing in partition 0"), again::errors);
    assertTrue(invoice("acme", "UTC").output().contains("NOT COMPLETE: calls of any client"));
    assertEquals(closed, count("SELECT from_ms FROM gaps"));
    String gap = "0 %d %d".formatted(closed, closed + 2 * WINDOW_MILLIS);
    assertEquals(gap, java("follow", "--until-end", gaps));
  }

  private void recreateLedger() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin.deleteTopics(List.of(Topics.LEDGER.name())).all().get();
      Await.until(
          () -> "the ledger is still there",
          () -> !admin.listTopics().names().get().contains(Topics.LEDGER.name()));
    }
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(1, Optional.empty());
    }
  }

  private static LedgerRow[] endpoints(int from, int to, LedgerRow close) {
    List<LedgerRow> rows = new ArrayList<>();
    for (int i = from; i < to; i++) {
      rows.add(row("acme", "calls", "GET /" + i, 1, 0));
    }
    rows.add(close);
    return rows.toArray(LedgerRow[]::new);
  }

  /** Runs BillingJob, and queries its file. */
  private String java(String command, String option, String query) throws Exception {
    Path file = folder.resolve("billing-java.db");
    Map<String, String> environment =
        Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "BILLING_DB", file.toString());
    try (WeirProcess job =
        WeirProcess.startMain(folder, environment, "BillingJob", command, option)) {
      assertEquals(0, job.awaitExit(), job::errors);
    }
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement statement = db.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getString(1);
    }
  }

  /** Regression: each start failed with a traceback at the same record. */
  @Test
  void follow_recordThatIsNoRow_isSkipped_named_andTheNextOneIsKept() throws Exception {
    byte[] good = LedgerRowCodec.encode(row("acme", "calls", "-", 19, 0));
    List<byte[]> records = new ArrayList<>();
    for (String bad :
        List.of(
            "",
            "{",
            "[]",
            "{\"schema_version\":1}",
            "\u0000",
            text(close()).replace("true", "1"),
            // regression: a traceback, since SQLite takes no half of a pair of surrogates
            text(row("acme", "calls", "-", 19, 0)).replace("\"acme\"", "\"\\ud800\""))) {
      records.add(bad.getBytes(StandardCharsets.UTF_8));
    }
    records.add(good);
    records.add(LedgerRowCodec.encode(close()));
    send(records);

    Ended follow = run("follow", "--until-end");

    assertEquals(1, follow.status(), follow::errors);
    assertTrue(follow.errors().contains("partition 0 offset 6 is skipped"), follow::errors);
    assertTrue(follow.errors().contains("7 records of the ledger were skipped"), follow::errors);
    assertFalse(follow.errors().contains("Traceback"), follow::errors);
    assertEquals(19, count("SELECT sum(quantity) FROM usage"));
    follow();
    Ended invoice = invoice("acme", "UTC");
    assertTrue(invoice.errors().contains("offset 6 is on no invoice"), invoice::errors);
  }

  /** Regression: with other time zone data, invoice and ledger differed at every midnight. */
  @Test
  void invoice_periodsInTheLedgerBeginAtAnotherTimeThanHere_isRefused() throws Exception {
    long begin = Instant.parse("2026-10-31T18:30:00Z").toEpochMilli();
    long end = Instant.parse("2026-11-30T18:30:00Z").toEpochMilli();
    UsageRow row = (UsageRow) row("acme", "calls", "-", 19, 0);
    write(inPeriod(row, BillingPeriod.own("2026-11-01", BESIDE, begin, end)), close());
    follow();
    java("follow", "--until-end", "SELECT count(*) FROM usage");
    assertTrue(invoice("acme", BESIDE).errors().contains("must begin at --from"), "same data");

    UsageRow other = (UsageRow) row("acme", "calls", "GET /", 19, 0);
    long hour = 3_600_000;
    write(inPeriod(other, BillingPeriod.own("2026-11-01", BESIDE, begin + hour, end + hour)));
    follow();
    java("follow", "--until-end", "SELECT count(*) FROM usage");

    Ended refused = invoice("acme", BESIDE);
    assertEquals(2, refused.status(), refused::errors);
    String sentence = "2026-11-01 in Asia/Kolkata begins at 2026-10-31T18:30:00Z here";
    assertTrue(refused.errors().contains(sentence), refused::errors);
    Map<String, String> environment =
        Map.of("BILLING_DB", folder.resolve("billing-java.db").toString());
    try (WeirProcess java =
        WeirProcess.startMain(
            folder, environment, "BillingJob", "bill", "2026-11-01", "2026-11-02", BESIDE)) {
      assertEquals(2, java.awaitExit(), java::errors);
      assertTrue(java.errors().contains(sentence), java::errors);
    }
  }

  /** Clients who are billed by UTC months: the sample compares with the aggregator's reports. */
  @Test
  void invoice_reportsPlaceAMidnightElsewhere_isRefused() throws Exception {
    write(row("acme", "calls", "-", 19, 0), close());
    follow();
    HttpServer reports =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    try {
      String[] from = {"2026-11-01T00:00:00Z"};
      reports.createContext(
          "/v1/usage",
          exchange -> {
            String body = "{\"from\":\"%s\",\"to\":\"2026-11-02T00:00:00Z\"}".formatted(from[0]);
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
          });
      reports.start();
      String url = "http://127.0.0.1:" + reports.getAddress().getPort();

      from[0] = "2026-10-31T23:00:00Z";
      Ended refused = invoice("acme", "UTC", "--reports", url);
      assertEquals(2, refused.status(), refused::errors);
      assertTrue(refused.errors().contains("time zone data of this machine"), refused::errors);
      assertTrue(refused.errors().contains("2026-10-31T23:00:00Z in Weir's reports"));
      from[0] = "2026-11-01T00:00:00Z";
      Ended issued = invoice("acme", "UTC", "--reports", url);
      assertEquals(0, issued.status(), issued::errors);
    } finally {
      reports.stop(0);
    }
  }

  private static UsageRow inPeriod(UsageRow row, BillingPeriod period) {
    return new UsageRow(
        row.key(),
        row.window(),
        row.type(),
        row.revision(),
        row.previousRecordId(),
        row.reason(),
        row.count(),
        row.quantityTotal(),
        row.inputPartition(),
        row.closedThroughEpochMillis(),
        row.complete(),
        row.emittedAtEpochMillis(),
        period);
  }

  @Test
  void invoice_sumBeyondSqlitesRange_isExact() throws Exception {
    write(manyRows());
    follow();

    Ended invoice = invoice("acme", "UTC", "--price", "bytes=1");

    assertEquals(0, invoice.status(), invoice::errors);
    BigInteger sum = BigInteger.valueOf(CallEvent.MAX_QUANTITY).multiply(BigInteger.valueOf(ROWS));
    assertTrue(invoice.output().contains("  " + sum + "  bytes"), invoice::output);
  }

  @Test
  void follow_numberBeyondSqlitesRange_keepsNothingOfTheBatchAndSaysSo() throws Exception {
    LedgerRow good = row("acme", "calls", "-", 19, 0);
    byte[] bad =
        text(row("acme", "calls", "GET /b", 77, 0))
            .replace("\"quantity\":77", "\"quantity\":1" + "0".repeat(30))
            .getBytes(StandardCharsets.UTF_8);
    send(List.of(LedgerRowCodec.encode(good), bad));

    Ended follow = run("follow", "--until-end");

    assertEquals(1, follow.status(), follow::errors);
    assertTrue(follow.errors().contains("a number that SQLite cannot hold"), follow::errors);
    assertFalse(follow.errors().contains("Traceback"), follow::errors);
    assertEquals(0, count("SELECT count(*) FROM usage"));
    assertEquals(0, count("SELECT max(next_offset) FROM partitions"));
  }

  /** Regression: a traceback after each batch that had been kept. */
  @Test
  void follow_boundaryBeyondAllDates_endsWithoutATraceback() throws Exception {
    write(new CloseRow(0, 1L << 53, 0, 0, true, 0));

    Ended follow = run("follow", "--until-end");

    assertEquals(0, follow.status(), follow::errors);
    assertTrue(follow.output().contains("which is no date"), follow::output);
  }

  @Test
  void follow_fileCannotGrow_rollsBack_saysWhatToDo_andGoesOnWhenItCan() throws Exception {
    write(manyRows());
    assertEquals(3, invoice("acme", "UTC").status(), "an empty file");
    List<String> limited =
        new ArrayList<>(
            List.of("bash", "-c", "ulimit -f " + MAX_FILE_KIBIBYTES + "; exec \"$@\"", "-"));
    limited.addAll(job);
    limited.addAll(List.of("follow", "--until-end"));

    Ended follow = programs.run(limited);

    assertEquals(1, follow.status(), follow::errors);
    assertTrue(follow.errors().contains("--db " + database()), follow::errors);
    assertTrue(follow.errors().contains("its disk has room, then run this again"), follow::errors);
    assertFalse(follow.errors().contains("Traceback"), follow::errors);
    follow();
    assertEquals(ROWS, count("SELECT count(*) FROM usage"));
  }

  /** Regression: a traceback, which reads as if nothing had been issued. */
  @Test
  void invoice_whoseReaderIsGone_isIssued_andSaysSo() throws Exception {
    write(row("acme", "calls", "-", 19, 0), close());
    follow();
    List<String> piped =
        new ArrayList<>(
            List.of("bash", "-c", "set -o pipefail; \"$@\" | { exec 0<&-; sleep 2; }", "-"));
    piped.addAll(job);
    piped.addAll(
        List.of("invoice", "--client", "acme", "--from", "2026-11-01", "--to", "2026-11-02"));
    piped.addAll(List.of("--issue", "--tz", "UTC"));

    Ended cut = programs.run(piped);

    assertEquals(1, cut.status(), cut::errors);
    assertEquals("billing: invoice 1 is issued; ask again to print it", cut.errors().strip());
    Ended again = invoice("acme", "UTC");
    assertTrue(again.output().startsWith("invoice 1: acme"), again::output);
  }

  /**
   * Regression: lines of the library, one a second and broker, and no word that it is tried again.
   */
  @Test
  void follow_kafkaDown_isReportedOnce_andItsReturnOnce() throws Exception {
    String samples = Checkout.file("clients/samples").toString();
    String outage =
        """
        import sys
        sys.path.insert(0, sys.argv[1])
        sys.dont_write_bytecode = True
        from billing import KafkaError, Outage
        outage = Outage("kafka:9092")
        outage.over()
        for code in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._ALL_BROKERS_DOWN):
            outage.heard(KafkaError(code))
        outage.over()
        outage.over()
        """;

    Ended said = programs.run(List.of(programs.python(), "-c", outage, samples));

    assertEquals(0, said.status(), said::errors);
    List<String> lines = said.errors().lines().toList();
    assertEquals(2, lines.size(), said::errors);
    assertTrue(lines.get(0).startsWith("billing: Kafka does not answer at kafka:9092: "));
    assertEquals("billing: Kafka answers again", lines.get(1));
  }

  // ---- the ledger

  private static LedgerRow[] manyRows() {
    List<LedgerRow> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      rows.add(row("acme", "bytes", "GET /" + i, CallEvent.MAX_QUANTITY, 0));
    }
    rows.add(close());
    return rows.toArray(LedgerRow[]::new);
  }

  /** A closed window of an hour; with a quantity a single call of that cost. */
  private static LedgerRow row(
      String client, String meter, String endpoint, long quantity, long denied) {
    int allowed = quantity > 0 ? 1 : 0;
    return new UsageRow(
        new UsageKey(client, meter, endpoint),
        new UsageWindow(HOUR.toEpochMilli(), HOUR.toEpochMilli() + WINDOW_MILLIS),
        UsageRow.Type.FINAL,
        1,
        null,
        null,
        new UsageCount(quantity, allowed, denied, 0, 0, 0, allowed + denied, 0, 0, 0, 1),
        quantity,
        0,
        HOUR.toEpochMilli() + WINDOW_MILLIS,
        true,
        0);
  }

  /** Closes a day and more. */
  private static LedgerRow close() {
    return new CloseRow(0, HOUR.toEpochMilli() + 48L * WINDOW_MILLIS, 0, 0, true, 0);
  }

  private static String text(LedgerRow row) {
    return new String(LedgerRowCodec.encode(row), StandardCharsets.UTF_8);
  }

  private void write(LedgerRow... rows) throws Exception {
    send(Arrays.stream(rows).map(LedgerRowCodec::encode).toList());
  }

  private void send(List<byte[]> rows) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (byte[] row : rows) {
        sent.add(producer.send(new ProducerRecord<>(Topics.LEDGER.name(), row)));
      }
      for (Future<RecordMetadata> one : sent) {
        one.get();
      }
    }
  }

  // ---- the job

  private Path database() {
    return folder.resolve("billing.db");
  }

  private void follow() throws Exception {
    Ended follow = run("follow", "--until-end");
    assertEquals(0, follow.status(), follow::errors);
  }

  private Ended invoice(String client, String zone, String... more) throws Exception {
    List<String> arguments =
        new ArrayList<>(
            List.of("invoice", "--client", client, "--from", "2026-11-01", "--to", "2026-11-02"));
    arguments.addAll(List.of("--issue", "--tz", zone));
    arguments.addAll(List.of(more));
    return run(arguments.toArray(String[]::new));
  }

  private Ended run(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(job);
    command.addAll(List.of(arguments));
    return programs.run(command);
  }

  private long count(String query) throws SQLException {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + database());
        Statement statement = db.createStatement();
        ResultSet result = statement.executeQuery(query)) {
      result.next();
      return result.getLong(1);
    }
  }
}
