// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.billing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.WeirProcess;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestPostgres;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A real Kafka Connect worker, configured by the files of {@code clients/samples/connect} as they
 * are, keeps the ledger in a real PostgreSQL.
 */
final class LedgerToPostgresIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String GROUP = "connect-weir-ledger";
  private static final long BEGIN = 1_795_046_400_000L;
  private static final int WINDOWS = 40;

  @TempDir private Path folder;

  @Test
  void workerIsKilled_everyRowIsThereOnce_asItWasWritten() throws Exception {
    assumeTrue(TestPostgres.isInstalled(), "no PostgreSQL: apt-get install postgresql");
    try (TestKafka kafka = TestKafka.borrow();
        TestPostgres postgres = TestPostgres.start();
        WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers())) {
      postgres.runFile(ConnectWorker.TABLE);
      List<LedgerRow> first = rows(0);
      ledger.write(first);
      try (WeirProcess worker = worker(kafka, postgres)) {
        awaitRows(worker, postgres, first.size());
        worker.kill();
      }
      assertTrue(
          committed(kafka) < first.size(),
          "the worker was meant to be killed before it had committed what it had written");

      List<LedgerRow> second = rows(WINDOWS);
      ledger.write(second);
      UsageRow again = (UsageRow) first.get(0);
      ledger.write(
          List.of(
              again.emittedAt(again.emittedAtEpochMillis() + 1),
              WrittenLedger.countedAnew((UsageRow) first.get(1), 1)));
      List<LedgerRow> last = rows(2 * WINDOWS);
      ledger.write(last);
      try (WeirProcess worker = worker(kafka, postgres)) {
        awaitRows(worker, postgres, first.size() + second.size() + last.size());
        assertSameRows(kafka, postgres);
      }
    }
  }

  /** The runbook: the worker is stopped while the topic is recreated. */
  @Test
  void topicRecreatedWithMoreRows_everyRowIsThereOnce() throws Exception {
    assumeTrue(TestPostgres.isInstalled(), "no PostgreSQL: apt-get install postgresql");
    try (TestKafka kafka = TestKafka.borrow();
        TestPostgres postgres = TestPostgres.start()) {
      postgres.runFile(ConnectWorker.TABLE);
      List<LedgerRow> first = rows(0);
      try (WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers())) {
        ledger.write(first);
      }
      try (WeirProcess worker = worker(kafka, postgres)) {
        awaitRows(worker, postgres, first.size());
        Await.until(() -> "no offset is committed", () -> committed(kafka) >= first.size());
      }
      WrittenLedger.lose(kafka.bootstrapServers());
      List<LedgerRow> more = new ArrayList<>(first.subList(first.size() - 50, first.size()));
      more.addAll(rows(WINDOWS));
      more.addAll(rows(2 * WINDOWS));
      try (WrittenLedger ledger = new WrittenLedger(kafka.bootstrapServers())) {
        ledger.write(more);
      }

      try (WeirProcess worker = worker(kafka, postgres)) {
        awaitRows(worker, postgres, first.size() + more.size() - 50);
      }
    }
  }

  @Test
  void columnThatABillerAdded_canBeUpdated_andWeirsOwnCannot() {
    assumeTrue(TestPostgres.isInstalled(), "no PostgreSQL: apt-get install postgresql");
    try (TestPostgres postgres = TestPostgres.start()) {
      postgres.runFile(ConnectWorker.TABLE);
      postgres.query("ALTER TABLE weir_ledger ADD invoice_id bigint");
      postgres.query(
          "INSERT INTO weir_ledger (schema_version, record_id, record_type, quantity_total,"
              + " input_partition, closed_through_ms, rows, complete, emitted_at_ms)"
              + " VALUES (1, 'a', 'CLOSE', 1, 0, 5, 0, true, 9)");
      postgres.query("UPDATE weir_ledger SET invoice_id = 7");
      postgres.query("UPDATE weir_ledger SET emitted_at_ms = 99");
      postgres.query("UPDATE weir_ledger SET quantity_total = 99");

      assertEquals(
          List.of("7|9|1"),
          postgres.query("SELECT invoice_id, emitted_at_ms, quantity_total FROM weir_ledger"));
    }
  }

  /** Rows of 10 clients and 40 windows: every kind, of both versions, and then their CLOSE. */
  private static List<LedgerRow> rows(int firstWindow) {
    List<LedgerRow> rows = new ArrayList<>();
    for (int window = firstWindow; window < firstWindow + WINDOWS; window++) {
      long start = BEGIN + window * WrittenLedger.WINDOW.toMillis();
      for (int i = 0; i < 10; i++) {
        String client = "client ü " + i;
        UsageRow calls = WrittenLedger.row(client, "calls", "GET /v1/items", start, 3L + i);
        rows.add(i % 3 == 0 ? WrittenLedger.inOwnPeriod(calls) : calls);
        rows.add(WrittenLedger.row(client, "bytes", "", start, 9_000_000_000_000_000L - i));
        if (i % 4 == 0) {
          rows.add(WrittenLedger.adjusted((UsageRow) rows.get(rows.size() - 2), -2, start + 1));
        }
      }
      rows.addAll(WrittenLedger.closes(start + WrittenLedger.WINDOW.toMillis()));
    }
    return rows;
  }

  private WeirProcess worker(TestKafka kafka, TestPostgres postgres) throws Exception {
    return ConnectWorker.start(folder, kafka.bootstrapServers(), postgres);
  }

  private static void awaitRows(WeirProcess worker, TestPostgres postgres, int rows)
      throws Exception {
    Await.until(
        () -> rows + " rows, of a worker that says " + worker.output() + worker.errors(),
        () -> {
          assertTrue(worker.isAlive(), () -> worker.output() + worker.errors());
          return postgres
              .query("SELECT count(*) FROM weir_ledger, pg_sleep(0.2)")
              .equals(List.of(Integer.toString(rows)));
        });
  }

  private static long committed(TestKafka kafka) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      return admin
          .listConsumerGroupOffsets(GROUP)
          .partitionsToOffsetAndMetadata()
          .get()
          .values()
          .stream()
          .mapToLong(OffsetAndMetadata::offset)
          .sum();
    }
  }

  /** The table has what the topic has: of each record_id the first row, member by member. */
  private static void assertSameRows(TestKafka kafka, TestPostgres postgres) throws Exception {
    Map<String, JsonNode> written = new TreeMap<>();
    BigInteger sum = BigInteger.ZERO;
    for (var record : TopicContents.read(kafka.bootstrapServers(), Topics.LEDGER.name())) {
      JsonNode row = JSON.readTree(record.value());
      if (written.putIfAbsent(row.path("record_id").asText(), row) == null) {
        sum = sum.add(BigInteger.valueOf(row.path("quantity").asLong()));
      }
    }
    Map<String, JsonNode> kept = new TreeMap<>();
    for (String line :
        postgres.query("SELECT json_strip_nulls(row_to_json(l)) FROM weir_ledger l")) {
      JsonNode row = JSON.readTree(line);
      kept.put(row.path("record_id").asText(), row);
    }
    assertEquals(written, kept);
    assertEquals(List.of(sum.toString()), postgres.query("SELECT sum(quantity) FROM weir_ledger"));
    assertEquals(List.of(sum.toString()), postgres.query("SELECT sum(quantity) FROM weir_usage"));
    long end = BEGIN + 3L * WINDOWS * WrittenLedger.WINDOW.toMillis();
    assertEquals(
        List.of(end + "|" + WrittenLedger.PARTITIONS),
        postgres.query("SELECT min(closed_through_ms), count(*) FROM weir_closed_through"));
  }
}
