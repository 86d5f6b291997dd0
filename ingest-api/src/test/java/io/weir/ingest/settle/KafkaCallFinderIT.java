// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import io.weir.testing.Await;
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
import java.util.concurrent.atomic.AtomicInteger;
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
    kafka = TestKafka.borrow();
    CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
    log =
        KafkaCallLog.open(
            RecordConfig.builder("n1", kafka.bootstrapServers(), temp.resolve("journal"))
                .durability(Durability.ACKED)
                .ackTimeout(Await.PATIENCE)
                .drainTimeout(Await.PATIENCE)
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
      NotFound not = assertInstanceOf(NotFound.class, finder.find(query("order-9", null)));
      assertTrue(HORIZON.toMillis() <= not.toEpochMillis() - not.fromEpochMillis());
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
    fill(16);
    try (CallFinder finder = finder(0)) {
      AtomicInteger found = new AtomicInteger();
      AtomicInteger tried = new AtomicInteger();
      Await.until(
          () -> "5 calls that came in time, " + found.get() + " of " + tried.get(),
          () -> {
            found.addAndGet(arrivesInTimeAndIsFound(finder, tried.incrementAndGet()) ? 1 : 0);
            return found.get() == 5;
          });
    }
  }

  /**
   * Records a call while it is looked for. Whether one must be found that was recorded when nearly
   * all was read cannot be told; one must that was recorded in the first half of the time.
   */
  private boolean arrivesInTimeAndIsFound(CallFinder finder, int number) {
    String id = "arriving-" + number;
    long beganNanos = System.nanoTime();
    var arriving =
        CompletableFuture.supplyAsync(
            () -> {
              UsagePosition position = record(id);
              return new Arrival(position, System.nanoTime());
            });
    Finding finding = finder.find(query(id, null));
    long half = beganNanos + (System.nanoTime() - beganNanos) / 2;
    Arrival arrival = arriving.join();
    if (arrival.atNanos() - half > 0) {
      return false;
    }
    assertEquals(arrival.position(), found(finding), id);
    return true;
  }

  /** A call in the log. */
  private record Arrival(UsagePosition position, long atNanos) {}

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
        kafka.bootstrapServers(),
        "n1",
        PARTITIONS,
        HORIZON,
        64,
        () -> nowMillis,
        new SearchTimes(Await.PATIENCE, Await.PATIENCE));
  }

  private static CallQuery query(String id, @Nullable UsagePosition position) {
    return new CallQuery("acme", id, position);
  }

  private static UsagePosition found(Finding finding) {
    return assertInstanceOf(Found.class, finding).position();
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
