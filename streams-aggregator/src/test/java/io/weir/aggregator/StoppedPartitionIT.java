// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.testing.Await;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A record that makes the aggregator fail: a late call whose closed row, restored from the
 * changelog, this version cannot read. Its partition stops, the others do not, and a person gets
 * past it.
 */
final class StoppedPartitionIT {
  private static final int PARTITIONS = 2;

  /** So long ago were calls decided that a promise of now closes their windows. */
  private static final long AGO_MILLIS = 20_000;

  private static final byte[] OF_ANOTHER_PROGRAM = {(byte) 198, 1};

  private static Broker broker;

  @TempDir Path folder;

  @BeforeAll
  static void startBroker() throws Exception {
    broker = new Broker(PARTITIONS);
  }

  @AfterAll
  static void stopBroker() {
    broker.close();
  }

  @Test
  void recordThatFailsTheCounting_stopsItsPartitionOnly_andIsQuarantinedOnRequest()
      throws Exception {
    String poisoned = Calls.clientOf("acme", 0, PARTITIONS);
    String other = Calls.clientOf("other", 1, PARTITIONS);
    long decidedAt = System.currentTimeMillis() - AGO_MILLIS;
    try (Aggregator running = Aggregator.start(config("1", ""))) {
      Await.until("ready", running::ready);
      send(0, 1, poisoned, "first", decidedAt);
      Await.until("closed", () -> quantityOf(poisoned) == 7);
    }
    spoilClosedRow();

    long offset;
    try (Aggregator running = Aggregator.start(config("2", ""))) {
      Await.until("ready", running::ready);
      send(0, 2, poisoned, "late", decidedAt);
      Await.until("partition 0 stands still", () -> stopped(running).size() == 1);
      JsonNode stop = stopped(running).get(0);
      offset = stop.get("offset").asLong();
      assertEquals(Topics.CALLS.name(), stop.get("topic").asText());
      assertEquals(0, stop.get("partition").asInt());

      send(1, 1, other, "goes on", decidedAt);
      Await.until("partition 1 is counted", () -> quantityOf(other) == 7);
      send(0, 3, poisoned, "waits", decidedAt + 1);
      assertFalse(running.failed());
      assertEquals(7, quantityOf(poisoned));
      assertEquals(200, Reports.get(running, "/v1/usage?client=" + poisoned).statusCode());
    }

    try (Aggregator running = Aggregator.start(config("2", "0@" + offset))) {
      Await.until("the record is in the quarantine", () -> quarantined().size() == 1);
      assertEquals("late", CallBatchReader.decode(quarantined().get(0).value()).get(0).id());
      Await.until("the partition goes on, up to the next", () -> stopped(running).size() == 1);
      assertEquals(offset + 2, stopped(running).get(0).get("offset").asLong());
    }
  }

  /** Replaces a restored closed row by one that this version cannot read. */
  private static void spoilClosedRow() {
    String changelog = "stop-meter-core-closed-rows-changelog";
    List<ConsumerRecord<byte[], byte[]>> rows =
        broker.read(changelog).stream().filter(row -> row.partition() == 0).toList();
    broker.sendTo(changelog, 0, rows.get(rows.size() - 1).key(), OF_ANOTHER_PROGRAM);
    broker.flush();
  }

  private static JsonNode stopped(Aggregator aggregator) throws Exception {
    return Reports.MAPPER.readTree(Reports.get(aggregator, "/health/ready").body()).path("stopped");
  }

  private static List<ConsumerRecord<byte[], byte[]>> quarantined() {
    return broker.read(Topics.QUARANTINE);
  }

  /** A batch of one call of cost 7, and a promise of now. */
  private static void send(
      int partition, long sequence, String client, String id, long decidedAtEpochMillis) {
    broker.send(
        partition,
        Calls.batch("n", sequence, 1, decidedAtEpochMillis, sequence - 1),
        Calls.value(List.of(Calls.allowed(id, client, 7, decidedAtEpochMillis))));
    long now = System.currentTimeMillis();
    broker.send(partition, new BatchHeader("n", 1, sequence, 0, now, sequence, false), new byte[0]);
    broker.flush();
  }

  private static long quantityOf(String client) throws MalformedRecordException {
    long quantity = 0;
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      if (LedgerRowCodec.decode(record.value()) instanceof UsageRow row
          && row.key().client().equals(client)) {
        quantity += row.count().quantity();
      }
    }
    return quantity;
  }

  private AggregatorConfig config(String data, String quarantineRecords) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", broker.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_DATA", folder.resolve(data).toString());
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", "PT2S");
    environment.put("WEIR_GRACE", "PT1S");
    environment.put("WEIR_INSTANCE", "it-" + data);
    environment.put("WEIR_APPLICATION_PREFIX", "stop-");
    environment.put("WEIR_QUARANTINE_RECORDS", quarantineRecords);
    return AggregatorConfig.of(environment);
  }
}
