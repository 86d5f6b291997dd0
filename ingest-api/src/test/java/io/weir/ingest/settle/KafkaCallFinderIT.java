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
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.SettleOutcome.NotFound;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
            RecordConfig.builder(
                    "n1", KafkaConnection.to(kafka.bootstrapServers()), temp.resolve("journal"))
                .durability(Durability.ACKED)
                .ackTimeout(Await.TIMEOUT)
                .drainTimeout(Await.TIMEOUT)
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
  void callNotYetSentByItsNode_isUnknown_ratherThanNotFound() {
    UsagePosition last = record("order-1");
    UsagePosition next =
        new UsagePosition(last.partition(), last.node(), last.nodeEpoch(), last.line() + 1);

    try (CallFinder finder = finder(0)) {
      assertInstanceOf(Unavailable.class, finder.find(query("order-2", next)));
      assertInstanceOf(NotFound.class, finder.find(query("order-2", last)));
    }
  }

  /**
   * Regression: records that arrived between reading the log's end and reading the log were
   * skipped.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void callThatArrivesWhileTheLogIsRead_isFound(int question) throws Exception {
    int partition = ClientPartitioner.partition("acme", PARTITIONS);
    for (int i = 0; i < 20; i++) {
      UsagePosition unused = record("order-" + i);
    }
    try (KafkaCallFinder finder = finder(0)) {
      ArrivalWhileReading reader =
          new ArrivalWhileReading(
              finder.reader("acme", partition), question, () -> record("arriving"));
      CallLineSelection lines = new CallLineSelection(query("arriving", null), partition);

      new IdSearch(reader, lines, nowMillis).run(-1, HORIZON.toMillis());

      assertEquals(reader.arrived(), found(lines.found()));
    }
  }

  /** Reads the log, in which a call arrives just before a certain question to it. */
  private static final class ArrivalWhileReading implements PartitionReader {
    private final PartitionReader log;
    private final Supplier<UsagePosition> arrival;
    private int questionsBefore;
    private @Nullable UsagePosition arrived;

    ArrivalWhileReading(PartitionReader log, int question, Supplier<UsagePosition> arrival) {
      this.log = log;
      this.questionsBefore = question;
      this.arrival = arrival;
    }

    /** Returns the call's position; fails if the number of requests differs. */
    UsagePosition arrived() {
      return Objects.requireNonNull(arrived, "the call never arrived");
    }

    private void beforeQuestion() {
      questionsBefore--;
      if (questionsBefore == 0) {
        arrived = arrival.get();
      }
    }

    @Override
    public long begin() throws InterruptedException {
      beforeQuestion();
      return log.begin();
    }

    @Override
    public long end() throws InterruptedException {
      beforeQuestion();
      return log.end();
    }

    @Override
    public long offsetAt(long epochMillis) throws InterruptedException {
      beforeQuestion();
      return log.offsetAt(epochMillis);
    }

    @Override
    public Slice read(long offset) throws Spent, InterruptedException {
      beforeQuestion();
      return log.read(offset);
    }
  }

  private KafkaCallFinder finder(long laterMillis) {
    nowMillis = System.currentTimeMillis() + laterMillis;
    return new KafkaCallFinder(
        KafkaConnection.to(kafka.bootstrapServers()),
        "n1",
        PARTITIONS,
        HORIZON,
        64,
        () -> nowMillis,
        new KafkaCallFinder.SearchTimes(Await.TIMEOUT, Await.TIMEOUT),
        System::nanoTime);
  }

  private static CallQuery query(String id, @Nullable UsagePosition position) {
    return new CallQuery("acme", id, position);
  }

  private static UsagePosition found(@Nullable Finding finding) {
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
