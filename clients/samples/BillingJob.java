// SPDX-License-Identifier: Apache-2.0
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The core of a billing job that reads {@code weir.usage.ledger.v1}, in one file.
 *
 * <p>All state is one SQLite file. Its rows, the next offset of each partition and how far each
 * partition is closed change in one transaction, so the job may be stopped, or killed, at any
 * moment. {@code billing.py} next to it issues invoices as well.
 */
@SuppressWarnings("DefaultPackage") // a single file, to be copied
public final class BillingJob {
  private static final String TOPIC = "weir.usage.ledger.v1";
  private static final int NOT_READY = 3;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String USAGE =
      """
      CREATE TABLE IF NOT EXISTS usage (record_id TEXT PRIMARY KEY, client TEXT NOT NULL,
        meter TEXT NOT NULL, window_start_ms INTEGER NOT NULL, quantity INTEGER NOT NULL)
      """;
  private static final String PARTITIONS =
      """
      CREATE TABLE IF NOT EXISTS partitions (number INTEGER PRIMARY KEY,
        next_offset INTEGER NOT NULL, closed_through_ms INTEGER NOT NULL)
      """;

  private static final String GAPS =
      """
      CREATE TABLE IF NOT EXISTS gaps (number INTEGER NOT NULL, from_ms INTEGER NOT NULL,
        to_ms INTEGER NOT NULL, PRIMARY KEY (number, to_ms))
      """;

  private static final String LAST_CLOSES =
      """
      CREATE TABLE IF NOT EXISTS last_closes (number INTEGER PRIMARY KEY,
        boundary_ms INTEGER NOT NULL)
      """;

  private static final String PERIODS =
      """
      CREATE TABLE IF NOT EXISTS periods (zone TEXT NOT NULL, name TEXT NOT NULL,
        start_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL,
        PRIMARY KEY (zone, name, start_ms, end_ms))
      """;

  private static final long DAY_MILLIS = 86_400_000;

  /** The id of the topic (KIP-516). A topic that was deleted and created again has a new id. */
  private static final String TOPIC_ID = "CREATE TABLE IF NOT EXISTS topic (id TEXT NOT NULL)";

  private final Connection db;
  private int skipped;

  private BillingJob(Connection db) {
    this.db = db;
  }

  /** Runs {@code follow}, {@code follow --until-end} or {@code bill FROM TO ZONE}. */
  public static void main(String[] arguments) throws SQLException, IOException {
    String file = System.getenv().getOrDefault("BILLING_DB", "billing-java.db");
    String address = System.getenv().getOrDefault("WEIR_KAFKA", "");
    String kafka = address.isEmpty() ? "localhost:9092" : address;
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:" + file)) {
      BillingJob job = open(db);
      List<String> words = List.of(arguments);
      boolean untilEnd = words.equals(List.of("follow", "--until-end"));
      if (untilEnd || words.equals(List.of("follow"))) {
        job.follow(kafka, untilEnd);
      } else if (words.size() == 4 && words.get(0).equals("bill")) {
        ZoneId zone = ZoneId.of(words.get(3));
        Instant from = start(words.get(1), zone);
        Instant to = start(words.get(2), zone);
        job.requireSameZoneData(zone, from, to);
        job.bill(from, to);
      } else {
        System.err.println("follow [--until-end] | bill FROM TO ZONE, with dates or local times");
        System.exit(2);
      }
    }
  }

  private static BillingJob open(Connection db) throws SQLException {
    try (Statement statement = db.createStatement()) {
      statement.execute("PRAGMA journal_mode = WAL");
      statement.execute("PRAGMA synchronous = FULL");
      statement.execute("PRAGMA busy_timeout = 60000");
      statement.execute(USAGE);
      statement.execute(PARTITIONS);
      statement.execute(GAPS);
      statement.execute(LAST_CLOSES);
      statement.execute(PERIODS);
      statement.execute(TOPIC_ID);
    }
    db.setAutoCommit(false);
    return new BillingJob(db);
  }

  private void follow(String kafka, boolean untilEnd) throws SQLException, IOException {
    // "none": if rows have expired before they were read, the job ends instead of skipping them
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers",
            kafka,
            "isolation.level",
            "read_committed",
            "auto.offset.reset",
            "none",
            "enable.auto.commit",
            false);
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(TOPIC).stream()
              .map(info -> new TopicPartition(TOPIC, info.partition()))
              .toList();
      // no consumer group, because only SQLite stores the offsets
      consumer.assign(partitions);
      readFromTheBeginningIfRecreated(kafka, partitions.size());
      Map<TopicPartition, Long> first = consumer.beginningOffsets(partitions);
      for (TopicPartition partition : partitions) {
        int number = partition.partition();
        update("INSERT OR IGNORE INTO partitions VALUES (?, 0, 0)", number);
        long offset = number("SELECT next_offset FROM partitions WHERE number = " + number);
        consumer.seek(partition, offset == 0 ? first.get(partition) : offset);
      }
      db.commit();
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (!untilEnd || partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofSeconds(1));
        if (!records.isEmpty()) {
          keep(records);
          System.out.println("kept " + records.count() + " more records");
        }
      }
      if (skipped > 0) {
        System.err.println(skipped + " records of the ledger were skipped, each named above");
        System.exit(1);
      }
    }
  }

  /** Reads all rows again if the topic was created again, because the old offsets are not valid. */
  private void readFromTheBeginningIfRecreated(String kafka, int partitions)
      throws SQLException, IOException {
    String id;
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka))) {
      id =
          admin
              .describeTopics(List.of(TOPIC))
              .allTopicNames()
              .get()
              .get(TOPIC)
              .topicId()
              .toString();
    } catch (ExecutionException | InterruptedException failed) {
      throw new IOException("the topic " + TOPIC + " cannot be described", failed);
    }
    if (number("SELECT count(*) FROM topic WHERE id <> '" + id + "'") > 0) {
      System.err.println("the ledger was recreated: it is read from its beginning");
      update("DELETE FROM partitions WHERE number >= ?", partitions);
      update("UPDATE partitions SET next_offset = 0");
      // closed_through_ms stays because the rows that were read before stay
      update("INSERT OR REPLACE INTO last_closes SELECT number, 0 FROM partitions");
    }
    update("DELETE FROM topic");
    update("INSERT INTO topic VALUES (?)", id);
  }

  /** Stores the rows, CLOSE rows and offsets of a batch in one transaction. */
  private void keep(ConsumerRecords<byte[], byte[]> records) throws SQLException, IOException {
    for (ConsumerRecord<byte[], byte[]> record : records) {
      try {
        keep(record.partition(), JSON.readTree(record.value()));
      } catch (JsonProcessingException | IllegalArgumentException notARow) {
        skipped++;
        System.err.println(
            record.topic()
                + " partition "
                + record.partition()
                + " offset "
                + record.offset()
                + " is skipped: it is no row of the ledger");
      }
      update(
          "UPDATE partitions SET next_offset = ? WHERE number = ?",
          record.offset() + 1,
          record.partition());
    }
    db.commit();
  }

  private void keep(int partition, JsonNode row) throws SQLException, IOException {
    int version = row.required("schema_version").asInt();
    if (version != 1 && version != 2) { // 2: the client is billed by its own calendar
      throw new IOException("a row that this job does not know: " + row);
    }
    switch (row.required("record_type").asText()) {
      case "CLOSE" -> { // all rows of windows that end at or before this time precede it
        long through = row.required("closed_through_ms").asLong();
        if (!row.required("complete").asBoolean()) { // calls of any client may be missing
          update(
              "INSERT OR IGNORE INTO gaps SELECT number, from_ms, ? FROM (SELECT p.number,"
                  + " coalesce(c.boundary_ms, p.closed_through_ms) AS from_ms"
                  + " FROM partitions p LEFT JOIN last_closes c USING (number)"
                  + " WHERE p.number = ?) WHERE from_ms < ?",
              through,
              partition,
              through);
        }
        // a recreated topic may lack the rows between the former boundary and its first CLOSE
        update(
            "INSERT OR IGNORE INTO gaps SELECT number, closed_through_ms, ? FROM partitions"
                + " JOIN last_closes USING (number) WHERE number = ? AND boundary_ms = 0"
                + " AND closed_through_ms BETWEEN 1 AND ?",
            through,
            partition,
            through - 1);
        update(
            "INSERT INTO last_closes VALUES (?, ?) ON CONFLICT (number)"
                + " DO UPDATE SET boundary_ms = max(boundary_ms, excluded.boundary_ms)",
            partition,
            through);
        update(
            "UPDATE partitions SET closed_through_ms = max(closed_through_ms, ?)"
                + " WHERE number = ?",
            through,
            partition);
      }
      case "FINAL", "ADJUSTMENT" -> {
        if (version == 2) {
          update(
              "INSERT OR IGNORE INTO periods VALUES (?, ?, ?, ?)",
              row.required("billing_zone").asText(),
              row.required("billing_period").asText(),
              row.required("billing_period_start_ms").asLong(),
              row.required("billing_period_end_ms").asLong());
        }
        // a row that is written again has the same record_id
        update(
            "INSERT OR IGNORE INTO usage VALUES (?, ?, ?, ?, ?)",
            row.required("record_id").asText(),
            row.required("client").asText(),
            row.required("meter").asText(),
            row.required("window_start_ms").asLong(),
            row.required("quantity").asLong());
      }
      default -> throw new IOException("a row that this job does not know: " + row);
    }
  }

  /** Exits if this JDK's time zone data differ from the data that the ledger shows. */
  private void requireSameZoneData(ZoneId zone, Instant from, Instant to) throws SQLException {
    try (PreparedStatement periods =
        db.prepareStatement(
            "SELECT name, start_ms FROM periods WHERE zone = ? AND start_ms < ? AND end_ms > ?")) {
      periods.setString(1, zone.getId());
      periods.setLong(2, to.toEpochMilli() + DAY_MILLIS);
      periods.setLong(3, from.toEpochMilli() - DAY_MILLIS);
      ResultSet rows = periods.executeQuery();
      while (rows.next()) {
        Instant there = Instant.ofEpochMilli(rows.getLong(2));
        Instant here = start(rows.getString(1), zone);
        if (!here.equals(there)) {
          System.err.printf(
              "the time zone data of this JDK and of Weir's nodes differ: %s in %s begins at %s here,"
                  + " and at %s in the ledger; update the older one%n",
              rows.getString(1), zone, here, there);
          System.exit(2);
        }
      }
    }
  }

  /** Prints client, meter and quantity of a period; exits with status 3 if it is not closed. */
  private void bill(Instant from, Instant to) throws SQLException {
    Instant through = Instant.ofEpochMilli(number("SELECT min(closed_through_ms) FROM partitions"));
    if (through.isBefore(to)) {
      System.err.println("not ready: closed through " + through + ", the period ends at " + to);
      System.exit(NOT_READY);
    }
    String gaps =
        "SELECT count(*) FROM gaps WHERE from_ms < %d AND to_ms > %d"
            .formatted(to.toEpochMilli(), from.toEpochMilli());
    if (number(gaps) > 0) {
      System.err.println("not complete: calls may be missing, see GET /v1/completeness");
    }
    try (PreparedStatement sums =
        db.prepareStatement(
            "SELECT client, meter, sum(quantity) FROM usage"
                + " WHERE window_start_ms >= ? AND window_start_ms < ?"
                + " GROUP BY client, meter ORDER BY client, meter")) {
      sums.setLong(1, from.toEpochMilli());
      sums.setLong(2, to.toEpochMilli());
      ResultSet rows = sums.executeQuery();
      while (rows.next()) {
        System.out.println(rows.getString(1) + "\t" + rows.getString(2) + "\t" + rows.getLong(3));
      }
    }
  }

  private long number(String sql) throws SQLException {
    try (Statement statement = db.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      return row.getLong(1); // 0 for NULL
    }
  }

  private void update(String sql, Object... values) throws SQLException {
    try (PreparedStatement statement = db.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      statement.executeUpdate();
    }
  }

  /** Returns the start of a date, or a local time, in a zone. */
  private static Instant start(String text, ZoneId zone) {
    return text.contains("T")
        ? LocalDateTime.parse(text).atZone(zone).toInstant()
        : LocalDate.parse(text).atStartOfDay(zone).toInstant();
  }
}
