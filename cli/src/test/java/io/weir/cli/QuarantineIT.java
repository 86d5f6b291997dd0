// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.cli.records.TopicReader;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Lists and replays the quarantine, with real servers: each replayed line is counted once. */
final class QuarantineIT {
  private static final int PARTITIONS = 2;
  private static final long WINDOW_MILLIS = 2_000;

  /** Maximum time by which a call may be ahead of the broker's clock. */
  private static final long MAX_AHEAD_MILLIS = 300_000;

  private static final String A = clientOf(0);
  private static final String B = clientOf(1);

  @TempDir Path folder;

  private final TestKafka kafka = TestKafka.borrow();
  private final KafkaProducer<byte[], byte[]> producer =
      new KafkaProducer<>(
          Map.of("bootstrap.servers", kafka.bootstrapServers()),
          new ByteArraySerializer(),
          new ByteArraySerializer());
  private final long now = System.currentTimeMillis();

  /** So long ago that a promise of now closes the windows. */
  private final long decidedAt = now - 20_000;

  private final Map<String, String> environment = new HashMap<>();
  private long offset;
  private long position;

  @BeforeEach
  void create() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_DATA", folder.toString());
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", "PT2S");
    environment.put("WEIR_GRACE", "PT1S");
    environment.put("WEIR_INSTANCE", "it");
    environment.put("WEIR_APPLICATION_PREFIX", "quarantine-" + now + "-");
    environment.put("WEIR_QUARANTINE_RECORDS", "0@4");
  }

  @AfterEach
  void giveBack() {
    producer.close();
    kafka.close();
  }

  @Test
  void positionNotInTheQuarantine_isReported() {
    assertTrue(said(1, "replay", "99@5").contains("weir: the quarantine has no entry at 99@5"));
    assertTrue(said(1, "list", "0@5:2").contains("the quarantine has no entry at 0@5:2"));
  }

  @Test
  void everyKindOfRefusal_replayed_isCountedOnceOrStaysWithAReason() throws Exception {
    CallEvent ahead = call("ahead", A, 2, now + MAX_AHEAD_MILLIS + 40_000);
    UsagePosition place = new UsagePosition(0, "n", 1, 2);
    batch(call("good", A, 1, decidedAt), ahead);
    send(header(1), withoutCost(call("no call", A, 1, decidedAt)));
    send(
        new BatchHeader("damaged", 1, 1, 3, now, 0, false),
        value(call("d1", A, 4, decidedAt), call("d2", B, 8, decidedAt)));
    batch(ahead.settledAt(new CallSettlement(5, now, place)));
    CallEvent givenUp = call("given up", A, 16, decidedAt);
    batch(givenUp);
    UsagePosition itsLine = new UsagePosition(0, "n", 1, position);
    batch(givenUp.settledAt(new CallSettlement(20, now, itsLine)));
    batch(call("astray", B, 32, decidedAt));
    batch(call("old", A, 64, now - 36L * 86_400_000));
    sayGoodbye();
    try (Aggregator running = Aggregator.start(AggregatorConfig.of(environment))) {
      Await.until("ready", running::ready);
      Await.until("all are refused", () -> listed().contains("0@7:1"));
      String list = listed();
      assertLine(list, "0@1:1", "stays", "malformed");
      assertLine(list, "0@2:1", "waits", "d1");
      assertLine(list, "0@2:2", "waits", "d2");
      assertLine(list, "0@3:1", "decided_at_ms is in the future");
      assertLine(list, "0@4 ", "waits", "given up by WEIR_QUARANTINE_RECORDS");
      assertLine(list, "0@5:1", "waits", "the settled call was not counted");
      assertLine(list, "0@6:1", "waits", "client belongs to another partition");
      assertLine(list, "0@7:1", "stays", "longer than WEIR_LATENESS ago");
      Await.until("the good one to be counted", () -> quantity(A) + quantity(B) == 1);

      Await.until(
          "its time has come",
          () -> said(0, "list", "0@0:2").lines().anyMatch(line -> line.contains(" waits ")));
      String dry = said(1, "replay", "--dry-run");
      assertTrue(dry.contains("9 selected: 7 would be sent, 2 stay"), dry);
      String sent = said(1, "replay");
      assertTrue(sent.contains("STAYS 0@1:1 malformed"), sent);
      assertTrue(sent.contains("7 sent, 7 acknowledged, 7 counted, 0 refused again"), sent);
      assertCountedOnce();

      String again = said(0, "replay", "--client", B);
      assertTrue(again.contains("0 selected"), again);
      sendReplaysAgain();
      assertCountedOnce();
      assertTrue(said(0, "list", "--json", "0@2").contains("\"state\":\"counted\""));
    }
  }

  @Test
  void lineRefusedByAFullWindow_stays_untilAnotherCallIsSettledDown() throws Exception {
    environment.put("WEIR_QUARANTINE_RECORDS", "");
    CallEvent first = call("first", A, CallEvent.MAX_QUANTITY, decidedAt);
    batch(first, call("second", A, CallEvent.MAX_QUANTITY, decidedAt));
    try (Aggregator running = Aggregator.start(AggregatorConfig.of(environment))) {
      Await.until("ready", running::ready);
      Await.until("it is refused, and the first one shown", () -> listed().contains(" stays "));
      assertLine(
          listed(),
          "0@0:2",
          "stays",
          "would pass",
          "settle other calls of that window at lower costs");
      String dry = said(1, "replay", "--dry-run");
      assertTrue(dry.contains("1 selected: 0 would be sent, 1 stay"), dry);
      assertTrue(dry.contains("STAYS 0@0:2 the sum of its window is at the maximum"), dry);
      assertTrue(said(1, "replay").contains("0 to be sent, 1 stay"));

      batch(first.settledAt(new CallSettlement(0, now, new UsagePosition(0, "n", 1, 1))));
      Await.until("there is room", () -> listed().contains(" waits "));
      sayGoodbye();
      assertTrue(said(0, "replay").contains("1 counted, 0 refused again"));
      assertVerified();
      assertEquals(CallEvent.MAX_QUANTITY, quantity(A));
    }
  }

  @Test
  void replayKilledAnywhere_andRunAgain_countsEachLineOnce() throws Exception {
    environment.put("WEIR_QUARANTINE_RECORDS", "");
    int records = 60;
    for (int i = 0; i < records; i++) {
      send(
          new BatchHeader("damaged", 1, 1, 7, now, 0, false),
          value(call("a" + i, A, 1, decidedAt), call("b" + i, B, 1, decidedAt)));
    }
    sayGoodbye();
    try (Aggregator running = Aggregator.start(AggregatorConfig.of(environment))) {
      Await.until("ready", running::ready);
      Await.until("all are refused", () -> listed().contains("0@" + (records - 1) + ":2"));
      ProcessBuilder command =
          new ProcessBuilder(ChildJvm.command("64m", WeirCommand.class, "quarantine", "replay"));
      command.environment().put("WEIR_KAFKA", kafka.bootstrapServers());
      command.redirectErrorStream(true).redirectOutput(folder.resolve("said").toFile());
      Process killed = command.start();
      Await.until("a line is sent", () -> recordsOf(0) > records + 1 || !killed.isAlive());
      killed.destroyForcibly().waitFor();

      String sent = said(0, "replay");
      assertTrue(sent.contains("0 not counted yet") || sent.contains("0 selected"), sent);
      assertVerified();
      assertEquals(records, quantity(A));
      assertEquals(records, quantity(B));
    }
  }

  private void assertCountedOnce() {
    assertVerified(); // which waits until all is counted
    assertEquals(1 + 5 + 4 + 20, quantity(A));
    assertEquals(8 + 32, quantity(B));
  }

  private void assertVerified() {
    String from = Instant.ofEpochMilli(floor(decidedAt) - 60 * WINDOW_MILLIS).toString();
    String to = Instant.ofEpochMilli(floor(decidedAt) + WINDOW_MILLIS).toString();
    said(0, "verify", "--from", from, "--to", to);
  }

  private static long floor(long millis) {
    return millis - Math.floorMod(millis, WINDOW_MILLIS);
  }

  /** Behaves like a second run that has not seen the results of the first run. */
  private void sendReplaysAgain() throws Exception {
    long before = recordsOf(0) + recordsOf(1);
    List<ProducerRecord<byte @Nullable [], byte[]>> replays = new ArrayList<>();
    try (TopicReader calls =
        new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.CALLS)) {
      calls.read(
          calls.ends(),
          record -> {
            byte[] value = record.value();
            if (value != null && record.headers().lastHeader("replay_of") != null) {
              replays.add(
                  new ProducerRecord<>(
                      record.topic(), record.partition(), null, null, value, record.headers()));
            }
          },
          done -> {});
    }
    for (ProducerRecord<byte @Nullable [], byte[]> replay : replays) {
      producer.send(replay).get();
    }
    assertTrue(replays.size() >= 6 && before > 0, replays::toString);
  }

  private long recordsOf(int partition) {
    try (TopicReader calls =
        new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.CALLS)) {
      return calls.ends().getOrDefault(partition, 0L);
    }
  }

  private String listed() {
    return said(0, "list");
  }

  private static void assertLine(String said, String start, String... parts) {
    String line =
        said.lines()
            .filter(one -> one.startsWith(start))
            .findFirst()
            .orElseThrow(() -> new AssertionError(start + " in " + said));
    for (String part : parts) {
      assertTrue(line.contains(part), () -> part + " in " + line);
    }
  }

  private String said(int status, String subcommand, String... options) {
    List<String> arguments = new ArrayList<>();
    if (!subcommand.equals("verify")) {
      arguments.add("quarantine");
    }
    arguments.add(subcommand);
    arguments.addAll(List.of(options));
    StringWriter said = new StringWriter();
    PrintWriter printed = new PrintWriter(said, true);
    CommandLine command = WeirCommand.commandLine(environment).setOut(printed).setErr(printed);

    int exit = command.execute(arguments.toArray(String[]::new));

    assertEquals(status, exit, said::toString);
    return said.toString();
  }

  /** By the newest figures of every window. */
  private long quantity(String client) {
    Map<String, Long> newest = new HashMap<>();
    try (TopicReader topic =
        new TopicReader(KafkaConnection.to(kafka.bootstrapServers()), Topics.STATE)) {
      topic.read(
          topic.ends(),
          record -> {
            byte[] value = record.value();
            if (value != null && !String.valueOf(record.key()).startsWith("@")) {
              try {
                var state = UsageStateCodec.decode(value);
                if (state.key().client().equals(client)) {
                  newest.put(String.valueOf(record.key()), state.count().quantity());
                }
              } catch (MalformedRecordException notOurs) {
                throw new AssertionError(notOurs);
              }
            }
          },
          done -> {});
    }
    return newest.values().stream().mapToLong(quantity -> quantity).sum();
  }

  private void batch(CallEvent... lines) throws Exception {
    send(header(lines.length), value(lines));
  }

  /** The node's next batch. */
  private BatchHeader header(int count) {
    BatchHeader header = new BatchHeader("n", 1, offset + 1, count, decidedAt, position, false);
    position += count;
    return header;
  }

  /** Promises now in every partition, and leaves. */
  private void sayGoodbye() throws Exception {
    send(new BatchHeader("n", 1, offset, 0, now, position, true), new byte[0]);
    send(1, new BatchHeader("n", 1, 0, 0, now, 0, true), new byte[0]);
  }

  private void send(BatchHeader header, byte[] value) throws Exception {
    assertEquals(offset++, send(0, header, value));
  }

  private long send(int partition, BatchHeader header, byte[] value) throws Exception {
    return producer.send(CallsRecord.produced(partition, header, value)).get().offset();
  }

  /** Returns a batch of one call with cost 0, which only a hand-made batch can have. */
  private static byte[] withoutCost(CallEvent call) {
    byte[] batch = value(call);
    String hex = HexFormat.of().formatHex(batch);
    String column = "5201"; // field 10, packed, one byte
    batch[hex.lastIndexOf(column + "01") / 2 + 2] = 0;
    return batch;
  }

  private static byte[] value(CallEvent... lines) {
    return CallBatchWriter.encode(List.of(lines));
  }

  private static CallEvent call(String id, String client, long cost, long decidedAtMillis) {
    return new CallEvent(
        id,
        false,
        client,
        "-",
        CallEvent.DEFAULT_METER,
        cost,
        true,
        DecidedBy.CACHE,
        null,
        1,
        decidedAtMillis,
        null,
        List.of());
  }

  private static String clientOf(int partition) {
    return IntStream.range(0, Integer.MAX_VALUE)
        .mapToObj(i -> "client-" + i)
        .filter(name -> ClientPartitioner.partition(name, PARTITIONS) == partition)
        .findFirst()
        .orElseThrow();
  }
}
