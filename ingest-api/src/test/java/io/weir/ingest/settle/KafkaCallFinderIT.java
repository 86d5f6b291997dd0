// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.KafkaCallLog;
import io.weir.ingest.record.RecordConfig;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.NotFound;
import io.weir.ingest.settle.CallFinder.Unknown;
import io.weir.servers.testing.TestKafka;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Searches in the log of a real broker; a search at a later time is one for an older call. */
final class KafkaCallFinderIT {
  private static final int PARTITIONS = 3;
  private static final Duration HORIZON = Duration.ofMinutes(30);
  private static final long MINUTE = 60_000;

  @TempDir private Path temp;
  private TestKafka kafka;
  private KafkaCallLog log;
  private long nowMillis;

  @BeforeEach
  void start() throws Exception {
    kafka = TestKafka.start();
    CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
    log =
        KafkaCallLog.open(
            RecordConfig.builder("n1", kafka.bootstrapServers(), temp.resolve("journal"))
                .durability(Durability.ACKED)
                .build(),
            DecisionClock.ofSystem());
  }

  @AfterEach
  void stop() {
    log.close();
    kafka.close();
  }

  @Test
  void call_isFoundAtItsAge_withinTheHorizon_orByTheTimeInItsId() {
    String ours = new UUID((System.currentTimeMillis() << 16) | 0x7000L, 1L << 63).toString();
    UsagePosition first = record("order-1");
    UsagePosition second = record(ours);

    try (CallFinder finder = finder(0)) {
      assertEquals(first, found(finder.find(query("order-1", null))));
    }
    try (CallFinder finder = finder(20 * MINUTE)) {
      assertEquals(first, found(finder.find(query("order-1", null))), "in a part before");
      assertEquals(first, found(finder.find(query("order-1", first))));
    }
    try (CallFinder finder = finder(100 * MINUTE)) {
      assertEquals(second, found(finder.find(query(ours, null))), "beyond the horizon");
      NotFound not = assertInstanceOf(NotFound.class, finder.find(query("order-1", null)));
      assertEquals(HORIZON.toMillis(), not.toEpochMillis() - not.fromEpochMillis());
      assertEquals(nowMillis, not.toEpochMillis());
    }
  }

  @Test
  void callThatItsNodeHasNotSent_isAwaited_andNotSaidToBeMissing() {
    UsagePosition last = record("order-1");
    UsagePosition next =
        new UsagePosition(last.partition(), last.node(), last.nodeEpoch(), last.line() + 1);

    try (CallFinder finder = finder(0)) {
      assertInstanceOf(Unknown.class, finder.find(query("order-2", next)));
      assertInstanceOf(NotFound.class, finder.find(query("order-2", last)));
    }
  }

  /** Once, what came between the question for the log's end and its reading was passed over. */
  @Test
  void callThatArrivesWhileTheLogIsRead_isFound() throws Exception {
    fill(64);
    try (CallFinder finder = finder(0)) {
      for (int i = 0; i < 5; i++) {
        String id = "arriving-" + i;
        var arriving = CompletableFuture.supplyAsync(() -> record(id));
        Finding finding = finder.find(query(id, null));
        assertEquals(arriving.join(), found(finding), id);
      }
    }
  }

  /** Makes the client's partition so long that reading it takes a while. */
  private void fill(int halfMebibytes) throws Exception {
    int partition = ClientPartitioner.partition("acme", PARTITIONS);
    Map<String, Object> config = Map.of("bootstrap.servers", kafka.bootstrapServers());
    try (var producer =
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (int i = 0; i < halfMebibytes; i++) {
        byte[] value = new byte[512 << 10];
        sent.add(producer.send(new ProducerRecord<>(Topics.CALLS.name(), partition, null, value)));
      }
      for (Future<RecordMetadata> one : sent) {
        one.get();
      }
    }
  }

  private CallFinder finder(long laterMillis) {
    nowMillis = System.currentTimeMillis() + laterMillis;
    return new KafkaCallFinder(
        kafka.bootstrapServers(), "n1", PARTITIONS, HORIZON, () -> nowMillis);
  }

  private static CallQuery query(String id, @Nullable UsagePosition position) {
    return new CallQuery("acme", id, position);
  }

  private static UsagePosition found(Finding finding) {
    return assertInstanceOf(Found.class, finding).call().position();
  }

  private UsagePosition record(String id) {
    Ticket ticket = log.begin();
    CallEvent call =
        new CallEvent(
            id,
            true,
            "acme",
            "-",
            "calls",
            8,
            true,
            DecidedBy.NONE,
            null,
            1,
            ticket.begunAtEpochMillis(),
            null,
            List.of());
    return assertInstanceOf(Recorded.Durable.class, log.record(ticket, call)).position();
  }
}
