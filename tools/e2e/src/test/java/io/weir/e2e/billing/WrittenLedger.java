// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.billing;

import io.weir.limits.BillingPeriod;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.LedgerRowCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;

/**
 * A ledger as the aggregator writes it: in transactions, through the real codec, the rows of a
 * client in the partition of the client. Not thread-safe.
 */
final class WrittenLedger implements AutoCloseable {
  static final int PARTITIONS = 3;
  static final Duration WINDOW = Duration.ofMinutes(15);

  /** Quantity of a row of an aborted transaction, so large that it makes every sum wrong. */
  private static final long NEVER_SAID = 1_000_000_000_000L;

  private final KafkaProducer<@Nullable String, byte[]> producer;

  /** Creates the topics, and begins to write into the empty ledger. */
  WrittenLedger(String kafka) throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka, "transactional.id", "written-ledger"),
            new StringSerializer(),
            new ByteArraySerializer());
    producer.initTransactions();
  }

  /** Deletes the topic, with all that was written. */
  static void lose(String kafka) throws Exception {
    String ledger = Topics.LEDGER.name();
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka))) {
      admin.deleteTopics(List.of(ledger)).all().get();
      Await.until(
          () -> "the ledger is still there",
          () -> !admin.listTopics().names().get().contains(ledger));
    }
  }

  /** Writes rows in one transaction, behind another one that is aborted. */
  void write(List<? extends LedgerRow> rows) throws Exception {
    producer.beginTransaction();
    send(row("aborted", "calls", "-", 0, NEVER_SAID)).get();
    producer.abortTransaction();
    producer.beginTransaction();
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    for (LedgerRow row : rows) {
      sent.add(send(row));
    }
    producer.commitTransaction();
    for (Future<RecordMetadata> one : sent) {
      one.get();
    }
  }

  private Future<RecordMetadata> send(LedgerRow row) {
    String client = row instanceof UsageRow usage ? usage.key().client() : null;
    return producer.send(
        new ProducerRecord<>(
            Topics.LEDGER.name(), row.inputPartition(), client, LedgerRowCodec.encode(row)));
  }

  @Override
  public void close() {
    producer.close();
  }

  /** Returns the FINAL row of a window, whose quantity is that of a single call. */
  static UsageRow row(
      String client, String meter, String endpoint, long windowStartMillis, long quantity) {
    UsageKey key =
        endpoint.isEmpty() ? UsageKey.others(client, meter) : new UsageKey(client, meter, endpoint);
    return new UsageRow(
        key,
        new UsageWindow(windowStartMillis, windowStartMillis + WINDOW.toMillis()),
        UsageRow.Type.FINAL,
        1,
        null,
        null,
        new UsageCount(quantity, 1, 0, 0, 0, 0, 1, 7, 7, 11, 1),
        quantity,
        ClientPartitioner.partition(client, PARTITIONS),
        windowStartMillis + WINDOW.toMillis(),
        true,
        windowStartMillis + WINDOW.toMillis());
  }

  /** Returns the adjustment that follows a row. */
  static UsageRow adjusted(UsageRow row, long difference, long emittedAtMillis) {
    return new UsageRow(
        row.key(),
        row.window(),
        UsageRow.Type.ADJUSTMENT,
        row.revision() + 1,
        row.recordId(),
        UsageRow.Reason.SETTLE,
        new UsageCount(difference, 0, 0, 0, 0, 0, 0, 9, 9, 13, 1),
        row.quantityTotal() + difference,
        row.inputPartition(),
        row.closedThroughEpochMillis(),
        row.complete(),
        emittedAtMillis,
        row.ownPeriod());
  }

  /** Returns the row with another quantity, as it is counted anew when calls have expired. */
  static UsageRow countedAnew(UsageRow row, long quantity) {
    return new UsageRow(
        row.key(),
        row.window(),
        row.type(),
        row.revision(),
        row.previousRecordId(),
        row.reason(),
        new UsageCount(quantity, 1, 0, 0, 0, 0, 1, 7, 7, 11, 1),
        quantity,
        row.inputPartition(),
        row.closedThroughEpochMillis(),
        false,
        row.emittedAtEpochMillis() + 86_400_000,
        row.ownPeriod());
  }

  /** Returns the row of a client who is billed by a calendar of its own. */
  static UsageRow inOwnPeriod(UsageRow row) {
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
        BillingPeriod.own("2026-11-15", "Asia/Kathmandu", 1_794_593_700_000L, 1_797_185_700_000L));
  }

  /** Returns a CLOSE row of each partition. */
  static List<LedgerRow> closes(long closedThroughMillis) {
    List<LedgerRow> closes = new ArrayList<>();
    for (int partition = 0; partition < PARTITIONS; partition++) {
      closes.add(
          new CloseRow(partition, closedThroughMillis, 1, 1, true, closedThroughMillis + 1_000));
    }
    return closes;
  }
}
