// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.limits.BillingCalendar;
import io.weir.limits.BillingPeriod;
import io.weir.limits.ClientCalendar;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * What ingest and an aggregator would have written of a few calls, by hand and into a real broker:
 * one window of one client, closed and complete, with a duplicate, a settlement, a call from the
 * future and a damaged batch. A test changes it as a bug would. Each has a partition, and a client
 * of that partition, to itself.
 */
final class WrittenTopics {
  static final long WINDOW_MILLIS = 900_000;

  private final int partition;
  final UsageKey key;

  /** Start of the window, two hours ago, so that nothing has expired. */
  final long start =
      Math.floorDiv(System.currentTimeMillis(), WINDOW_MILLIS) * WINDOW_MILLIS - 8 * WINDOW_MILLIS;

  /** When the broker takes the next record of the calls. */
  long now = start + 60_000;

  final List<ProducerRecord<byte @Nullable [], byte @Nullable []>> calls = new ArrayList<>();
  final List<LedgerRow> ledger = new ArrayList<>();
  final List<UsageState> states = new ArrayList<>();

  /** Tombstones of erased rows of the state topic. */
  final List<UsageState> tombstones = new ArrayList<>();

  final List<ProducerRecord<byte @Nullable [], byte @Nullable []>> quarantine = new ArrayList<>();

  /** Received, counted, duplicate, quarantined. */
  long[] counters = {7, 4, 1, 2};

  /** Lines counted in rows of others, and how many endpoints have rows of their own. */
  long[] others = {0, 0};

  final CallEvent first;
  final CallEvent denied;
  final CallEvent own;
  final CallEvent settlement;

  /** Refused, since it stands in a batch whose header is wrong. */
  final CallEvent damaged;

  /** Refused, since it is dated ten minutes ahead of the broker. */
  final CallEvent future;

  /** Number of repetitions of a caller's id. */
  long repeated = 1;

  private long linesBefore;
  private final Map<String, Long> offsets = new HashMap<>();
  private int indexed;

  WrittenTopics(int partition, int partitions) {
    this.partition = partition;
    key = new UsageKey(client("client-", partition, partitions), "calls", "-");
    first = call("1", false, 3, true);
    denied = call("2", false, 4, false);
    own = call("own", true, 2, true);
    settlement = first.settledAt(new CallSettlement(5, now, position(1)));
    damaged = call("damaged", false, 8, true);
    future = call("future", false, 8, true, now + 600_000);
    batch(first, denied, own, own);
    batch(settlement);
    ProducerRecord<byte @Nullable [], byte @Nullable []> wrongCount = record(1, 7, damaged);
    calls.add(wrongCount);
    quarantine(wrongCount, 0);
    batch(future);
    quarantine(calls.get(3), 1);
    ledger.add(row(first, denied, own, settlement));
    states.add(state(1, first, denied, own, settlement));
    ledger.add(close(1, 7));
  }

  /** The position of a line of the node. */
  UsagePosition position(long line) {
    return new UsagePosition(partition, "n", start, line);
  }

  /** A client of a partition. */
  static String client(String prefix, int partition, int partitions) {
    return IntStream.range(0, Integer.MAX_VALUE)
        .mapToObj(i -> prefix + i)
        .filter(name -> ClientPartitioner.partition(name, partitions) == partition)
        .findFirst()
        .orElseThrow();
  }

  /** Takes back what would have been written. */
  void clear() {
    calls.clear();
    offsets.clear();
    indexed = 0;
    ledger.clear();
    states.clear();
    quarantine.clear();
    linesBefore = 0;
  }

  CallEvent call(
      String id, boolean fromCaller, long cost, boolean allowed, long decidedAtEpochMillis) {
    return new CallEvent(
        id,
        fromCaller,
        key.client(),
        key.endpoint(),
        key.meter(),
        cost,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        decidedAtEpochMillis,
        null,
        List.of());
  }

  CallEvent call(String id, boolean fromCaller, long cost, boolean allowed) {
    return call(id, fromCaller, cost, allowed, start + 1_000);
  }

  /** An allowed call of another endpoint. */
  CallEvent call(String id, String endpoint, long cost) {
    return new CallEvent(
        id,
        false,
        key.client(),
        endpoint,
        key.meter(),
        cost,
        true,
        DecidedBy.CACHE,
        null,
        1,
        start + 2_000,
        null,
        List.of());
  }

  /** Adds a batch of the node, behind the last one. */
  void batch(CallEvent... lines) {
    batchAt(linesBefore, lines);
    linesBefore += lines.length;
  }

  /** Adds a batch of the node at a place that may have been used before. */
  void batchAt(long before, CallEvent... lines) {
    calls.add(record(before, lines.length, lines));
  }

  private ProducerRecord<byte @Nullable [], byte @Nullable []> record(
      long before, int count, CallEvent... lines) {
    return record(
        new BatchHeader("n", start, calls.size() + 1, count, start, before, false),
        CallBatchWriter.encode(List.of(lines)));
  }

  private ProducerRecord<byte @Nullable [], byte @Nullable []> record(
      BatchHeader header, byte[] value) {
    ProducerRecord<byte @Nullable [], byte @Nullable []> record =
        new ProducerRecord<>(Topics.CALLS.name(), partition, now, null, value);
    BatchHeaderCodec.encode(header).forEach(record.headers()::add);
    return record;
  }

  /** Puts a record of the calls, or a line of it, into the quarantine. */
  void quarantine(ProducerRecord<byte @Nullable [], byte @Nullable []> record, int line) {
    byte[] value = record.value();
    byte[] kept = line == 0 || value == null ? value : reader(value).only(line);
    ProducerRecord<byte @Nullable [], byte @Nullable []> quarantined =
        new ProducerRecord<>(Topics.QUARANTINE.name(), partition, now, null, kept);
    quarantined
        .headers()
        .add("weir-source", bytes("weir.calls.v1-" + partition + "-" + calls.indexOf(record)));
    if (line > 0) {
      quarantined.headers().add("weir-line", bytes(Integer.toString(line)));
    }
    quarantine.add(quarantined);
  }

  /** The billing period of the client's own calendar in which the window starts. */
  BillingPeriod ownPeriod() {
    return calendar().at(start).period();
  }

  /** The client's own calendar. */
  static BillingCalendar calendar() {
    return Objects.requireNonNull(
        BillingCalendar.of(
            new ClientCalendar(ZoneId.of("Asia/Kathmandu"), LocalDate.of(2026, 1, 15))));
  }

  /** The same row in another billing period; null for the month of UTC. */
  static UsageRow inPeriod(UsageRow row, @Nullable BillingPeriod period) {
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

  /** The same figures in another billing period; null for the month of UTC. */
  static UsageState inPeriod(UsageState state, @Nullable BillingPeriod period) {
    return new UsageState(
        state.key(),
        state.window(),
        state.status(),
        state.revision(),
        state.count(),
        state.complete(),
        period);
  }

  UsageRow row(CallEvent... counted) {
    return row(1, count(counted), count(counted).quantity());
  }

  UsageRow row(long revision, UsageCount count, long total) {
    return row(key, revision, count, total);
  }

  UsageRow row(UsageKey key, long revision, UsageCount count, long total) {
    return new UsageRow(
        key,
        window(),
        revision == 1 ? UsageRow.Type.FINAL : UsageRow.Type.ADJUSTMENT,
        revision,
        revision == 1 ? null : UsageRow.recordId(key, window(), revision - 1),
        revision == 1 ? null : UsageRow.Reason.LATE,
        revision == 1 ? count : late(count, count.eventCount()),
        total,
        partition,
        window().endEpochMillis(),
        true,
        System.currentTimeMillis());
  }

  /** The figures. Each later revision has one late call. */
  UsageState state(long revision, CallEvent... counted) {
    return state(key, revision, counted);
  }

  UsageState state(UsageKey key, long revision, CallEvent... counted) {
    return new UsageState(
        key,
        window(),
        revision == 1 ? UsageState.Status.FINAL : UsageState.Status.ADJUSTED,
        revision,
        late(count(counted), revision - 1),
        true);
  }

  CloseRow close(long rows, long quantity) {
    return new CloseRow(
        partition, window().endEpochMillis(), rows, quantity, true, System.currentTimeMillis());
  }

  UsageWindow window() {
    return new UsageWindow(start, start + WINDOW_MILLIS);
  }

  /** The count of calls that came in time; an id of a caller came {@link #repeated} times more. */
  UsageCount count(CallEvent... counted) {
    long quantity = 0;
    long allowed = 0;
    long denied = 0;
    long digest = 0;
    long dropped = 0;
    long firstOffset = Long.MAX_VALUE;
    long lastOffset = -1;
    for (CallEvent call : counted) {
      quantity += call.quantity();
      digest += reader(CallBatchWriter.encode(List.of(call))).digest(1);
      if (call.settlement() == null) {
        allowed += call.allowed() ? 1 : 0;
        denied += call.allowed() ? 0 : 1;
        dropped = call.idFromCaller() ? repeated : dropped;
      }
      long offset = offsetOf(call);
      firstOffset = Math.min(firstOffset, offset);
      lastOffset = Math.max(lastOffset, offset);
    }
    return new UsageCount(
        quantity,
        allowed,
        denied,
        0,
        dropped,
        0,
        allowed + denied,
        firstOffset,
        lastOffset,
        digest,
        1);
  }

  /** The count of an adjustment, or of figures with a number of late calls. */
  static UsageCount late(UsageCount count, long late) {
    return new UsageCount(
        count.quantity(),
        count.callsAllowed(),
        count.callsDenied(),
        count.callsFailOpen(),
        count.duplicatesDropped(),
        late,
        count.eventCount(),
        count.firstOffset(),
        count.lastOffset(),
        count.eventsDigest(),
        count.policiesVersion());
  }

  /** The first record with a line of the same id, of a call or of a settlement. */
  private long offsetOf(CallEvent call) {
    while (indexed < calls.size()) {
      byte[] value = calls.get(indexed).value();
      long offset = indexed++;
      if (value != null) {
        decoded(value)
            .forEach(one -> offsets.putIfAbsent((one.settlement() != null) + one.id(), offset));
      }
    }
    return offsets.getOrDefault((call.settlement() != null) + call.id(), 0L);
  }

  private static CallBatchReader reader(byte[] value) {
    CallBatchReader reader = new CallBatchReader();
    try {
      reader.read(value);
    } catch (MalformedRecordException notABatch) {
      throw new IllegalArgumentException(notABatch);
    }
    return reader;
  }

  private static List<CallEvent> decoded(byte[] value) {
    try {
      return CallBatchReader.decode(value);
    } catch (MalformedRecordException notABatch) {
      throw new IllegalArgumentException(notABatch);
    }
  }

  /** Writes a final heartbeat, so that the window is complete, and all topics. */
  void writeComplete(String kafka) throws Exception {
    now = window().endEpochMillis() + 600_000;
    calls.add(
        record(new BatchHeader("n", start, calls.size(), 0, now, linesBefore, true), new byte[0]));
    write(kafka);
  }

  /** Promises a time, as a node does that lives. */
  void promise(long epochMillis) {
    now = epochMillis;
    calls.add(
        record(new BatchHeader("n", start, calls.size(), 0, now, linesBefore, false), new byte[0]));
  }

  /** Writes everything. */
  void write(String kafka) throws Exception {
    try (KafkaProducer<byte @Nullable [], byte @Nullable []> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka, "linger.ms", 20),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (ProducerRecord<byte @Nullable [], byte @Nullable []> record : records()) {
        sent.add(producer.send(record));
      }
      for (Future<RecordMetadata> one : sent) {
        one.get();
      }
    }
  }

  private List<ProducerRecord<byte @Nullable [], byte @Nullable []>> records() {
    List<ProducerRecord<byte @Nullable [], byte @Nullable []>> records = new ArrayList<>(calls);
    records.addAll(quarantine);
    for (LedgerRow row : ledger) {
      byte[] value = LedgerRowCodec.encode(row);
      byte[] name = row instanceof UsageRow usage ? bytes(usage.key().client()) : null;
      records.add(new ProducerRecord<>(Topics.LEDGER.name(), partition, name, value));
    }
    for (UsageState state : states) {
      records.add(
          typed(Topics.STATE, "usage", UsageStateCodec.key(state), UsageStateCodec.encode(state)));
    }
    for (UsageState state : tombstones) {
      records.add(typed(Topics.STATE, "usage", UsageStateCodec.key(state), null));
    }
    records.add(
        typed(
            Topics.STATE,
            "progress",
            PartitionProgressCodec.key(partition),
            PartitionProgressCodec.encode(progress())));
    return records;
  }

  private PartitionProgress progress() {
    long closed =
        ledger.stream()
            .filter(CloseRow.class::isInstance)
            .mapToLong(row -> ((CloseRow) row).closedThroughEpochMillis())
            .max()
            .orElse(0);
    return new PartitionProgress(
        partition,
        calls.size() - 1L,
        now,
        closed,
        now,
        new PartitionProgress.Counters(counters[0], counters[1], counters[2], 0, counters[3]),
        0,
        0,
        others[0],
        others[1],
        List.of(),
        List.of());
  }

  /** Makes the topics; the broker's times of the calls are the test's. */
  static void create(String kafka, int partitions) throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka))) {
      topics.createMissing(partitions, Optional.empty());
    }
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka))) {
      admin
          .incrementalAlterConfigs(
              Map.of(
                  new ConfigResource(ConfigResource.Type.TOPIC, Topics.CALLS.name()),
                  List.of(
                      new AlterConfigOp(
                          new ConfigEntry("message.timestamp.type", "CreateTime"),
                          AlterConfigOp.OpType.SET))))
          .all()
          .get();
    }
  }

  private ProducerRecord<byte @Nullable [], byte @Nullable []> typed(
      Topic topic, String type, String name, byte @Nullable [] value) {
    ProducerRecord<byte @Nullable [], byte @Nullable []> record =
        new ProducerRecord<>(topic.name(), partition, bytes(name), value);
    record.headers().add("weir-type", bytes(type));
    return record;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
