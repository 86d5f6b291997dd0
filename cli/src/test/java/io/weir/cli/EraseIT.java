// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.aggregator.Aggregator;
import io.weir.aggregator.AggregatorConfig;
import io.weir.cli.erase.Erasure;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TopicContents;
import io.weir.testing.Await;
import io.weir.testing.Checkout;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is left of a client is erased, over a real broker and two real aggregators, and nothing else
 * changes. Windows are two seconds long and calls may be 15 s late, so that a window is soon old;
 * that its calls expire is done by hand, as the broker does after 35 days.
 */
final class EraseIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final int PARTITIONS = 2;
  private static final long WINDOW_MILLIS = 2_000;
  private static final Duration LATENESS = Duration.ofSeconds(15);
  private static final List<String> ENDPOINTS = List.of("GET /a", "GET /b%2F", "other");

  /** A name that must be encoded. No other client's name is a prefix of it. */
  private static final String ERASED = WrittenTopics.client("ac/me%", 0, PARTITIONS);

  /** A client in the same partition, whose name begins with the name of the erased client. */
  private static final String LONGER = WrittenTopics.client(ERASED, 0, PARTITIONS);

  /** Its calls have not expired. */
  private static final String HELD = WrittenTopics.client("held", 1, PARTITIONS);

  private static final String RANKING = "/v1/clients?order=quantity";

  @TempDir Path folder;

  private final TestKafka kafka = TestKafka.borrow();
  private final KafkaProducer<byte[], byte[]> producer =
      new KafkaProducer<>(
          Map.of("bootstrap.servers", kafka.bootstrapServers()),
          new ByteArraySerializer(),
          new ByteArraySerializer());
  private final long begun = System.currentTimeMillis();
  private final Map<String, String> environment = new HashMap<>();
  private final long[] sent = new long[PARTITIONS];
  private final long[] batches = new long[PARTITIONS];

  @BeforeEach
  void create() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(connection())) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
    environment.put("WEIR_KAFKA", kafka.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", "PT2S");
    environment.put("WEIR_GRACE", "PT0S");
    environment.put("WEIR_LATENESS", LATENESS.toString());
    environment.put("WEIR_RANKED_WINDOWS", "400");
    environment.put("WEIR_APPLICATION_PREFIX", "erase-" + begun + "-");
  }

  private KafkaConnection connection() {
    return KafkaConnection.to(kafka.bootstrapServers());
  }

  @AfterEach
  void giveBack() {
    producer.close();
    kafka.close();
  }

  @Test
  void erasedClient_isGoneFromReports_othersRemain() throws Exception {
    send(0, calls(ERASED));
    send(0, calls(LONGER));
    send(1, calls(HELD));
    try (Aggregator one = start("one");
        Aggregator two = start("two")) {
      List<Aggregator> both = List.of(one, two);
      Await.until("all windows are closed", () -> areFinal(both));
      Map<String, String> before = rows(Topics.STATE);
      Map<Integer, List<String>> ledger = ledger();
      JsonNode ofLonger = report(one, LONGER);
      JsonNode ofHeld = report(two, HELD);

      String young = said(3, "erase", ERASED, "--yes");
      assertTrue(young.contains("no rows of " + ERASED + " to erase"), young);
      assertTrue(young.contains("IN REACH 6 rows of " + ERASED), young);
      assertTrue(young.contains("run the command again after "), young);
      assertEquals(of(ERASED, before), of(ERASED, rows(Topics.STATE)));

      expireCalls(0);
      Await.until("no call of them would be taken", this::isErasable);
      assertEquals(of(ERASED, before), of(ERASED, rows(Topics.STATE)), "a dry run changes nothing");
      assertTrue(said(3, "erase", HELD, "--yes").contains("IN REACH 6 rows of " + HELD));

      interruptAfterTwoRows();
      assertEquals(4, of(ERASED, rows(Topics.STATE)).size());
      String erased = said(0, "erase", ERASED, "--yes");
      assertTrue(erased.contains("erased 4 rows of " + ERASED), erased);
      assertTrue(erased.contains("a second read found none of them"), erased);
      assertTrue(erased.contains("its bills: the ledger is not changed, for 400 days"), erased);

      assertEquals(Map.of(), of(ERASED, rows(Topics.STATE)));
      assertEquals(of(LONGER, before), of(LONGER, rows(Topics.STATE)));
      assertEquals(of(HELD, before), of(HELD, rows(Topics.STATE)));
      assertBeginsWith(ledger, ledger());
      for (Aggregator aggregator : both) {
        assertEquals(0, report(aggregator, ERASED).size(), "at once, by the read barrier");
        assertFalse(get(aggregator, usage(ERASED), "text/csv").contains("GET /a"));
        assertEquals(ofLonger, report(aggregator, LONGER));
        assertEquals(ofHeld, report(aggregator, HELD));
        Await.until(
            "the heaviest clients are known",
            () -> get(aggregator, RANKING, "application/json").contains(LONGER));
        for (String list : List.of("/v1/clients", RANKING)) {
          String names = get(aggregator, list, "application/json");
          assertTrue(names.contains('"' + LONGER + '"'), names);
          assertFalse(names.contains('"' + ERASED + '"'), names);
        }
      }
      assertVerifies();

      String again = said(0, "erase", ERASED, "--yes");
      assertTrue(again.contains("no rows of " + ERASED + " to erase"), again);

      send(0, calls(ERASED));
      Await.until("a new row begins", () -> report(one, ERASED).size() > 0);
      assertTrue(said(3, "erase", ERASED, "--dry-run").contains("IN REACH "));
    }
    assertResetBringsNothingBack();
  }

  @Test
  void clientWithAnEntry_isReported() {
    StringWriter published = new StringWriter();
    assertEquals(
        0,
        run(published, "policies", "apply", Checkout.file("deploy/policies.yml").toString()),
        published::toString);
    said(0, "set", ERASED, "--time-zone", "Europe/Paris");

    String said = said(3, "erase", ERASED, "--yes");

    assertTrue(said.contains("HAS AN ENTRY in weir.clients.v1"), said);
    said(0, "delete", ERASED);
    said(0, "erase", ERASED, "--yes");
  }

  @Test
  void topicThatKeepsCallsForEver_isReported() throws Exception {
    send(0, calls(ERASED));
    try (Aggregator one = start("one")) {
      Await.until("all windows are closed", () -> areFinal(List.of(one), ERASED));
      setCallsRetention("-1");

      String said = said(3, "erase", ERASED, "--dry-run");

      assertTrue(said.contains("IN REACH 6 rows"), said);
      assertTrue(said.contains("never, because weir.calls.v1 keeps their calls for ever"), said);
      assertTrue(said.contains("its calls, for ever"), said);
    }
  }

  /** They hold names and figures of windows, which a deletion alone would leave on the disks. */
  @Test
  void changelogsOfTheCounting_areCompactedWithinAWeek() throws Exception {
    send(0, calls(ERASED));
    try (Aggregator one = start("one");
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      Await.until("all windows are closed", () -> areFinal(List.of(one), ERASED));
      List<ConfigResource> changelogs =
          admin.listTopics().names().get().stream()
              .filter(name -> name.startsWith("erase-" + begun + "-"))
              .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name))
              .toList();

      assertFalse(changelogs.isEmpty());
      admin
          .describeConfigs(changelogs)
          .all()
          .get()
          .forEach(
              (topic, configs) ->
                  assertEquals(
                      "604800000", configs.get("max.compaction.lag.ms").value(), topic.name()));
    }
  }

  @Test
  void stateTopicOfAnEarlierVersion_isNamedByTheCheck_andFollowedAllTheSame() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .incrementalAlterConfigs(
              Map.of(
                  new ConfigResource(ConfigResource.Type.TOPIC, Topics.STATE.name()),
                  Stream.of("delete.retention.ms", "max.compaction.lag.ms")
                      .map(
                          name ->
                              new AlterConfigOp(
                                  new ConfigEntry(name, ""), AlterConfigOp.OpType.DELETE))
                      .toList()))
          .all()
          .get();
    }

    StringWriter check = new StringWriter();
    assertEquals(1, run(check, "topics", "check"), check::toString);
    assertTrue(
        check
            .toString()
            .contains(
                "weir.usage.state.v1 has delete.retention.ms=86400000, but must have"
                    + " 604800000"),
        check::toString);
    assertTrue(check.toString().contains("weir.usage.state.v1 has max.compaction.lag.ms="));
    send(0, calls(ERASED));
    try (Aggregator one = start("one")) {
      Await.until("all windows are closed", () -> areFinal(List.of(one), ERASED));
      String said = said(3, "erase", ERASED, "--dry-run");
      assertTrue(said.contains("then the keys of the rows, for PT24H"), said);
      assertTrue(said.contains("compact the topic, which may never happen: set max"), said);
    }
  }

  @Test
  void neitherYesNorDryRun_isRefused() {
    assertTrue(said(2, "erase", ERASED).contains("--dry-run to list them, or --yes to erase them"));
    assertTrue(said(2, "erase", ERASED, "--yes", "--dry-run").contains("not both"));
    assertTrue(said(2, "erase", "", "--yes").contains("CLIENT"));
  }

  /** Counts everything that the calls topic holds once more. */
  private void assertResetBringsNothingBack() throws Exception {
    Map<String, String> before = of(ERASED, rows(Topics.STATE));
    environment.put("WEIR_APPLICATION_PREFIX", "erase-again-" + begun + "-");
    try (Aggregator again = start("again")) {
      Await.until("it counts", again::ready);
      long last = promise(0);
      Await.until("all is counted again", () -> counted(0) >= last);

      assertEquals(before.keySet(), of(ERASED, rows(Topics.STATE)).keySet());
    }
  }

  private Aggregator start(String instance) throws Exception {
    environment.put("WEIR_INSTANCE", instance);
    environment.put("WEIR_DATA", folder.resolve(instance).toString());
    return Aggregator.start(AggregatorConfig.of(environment));
  }

  /** A call of each endpoint in each of two windows, made by now: none is late. */
  private static List<CallEvent> calls(String client) {
    long atEpochMillis = System.currentTimeMillis();
    List<CallEvent> calls = new ArrayList<>();
    for (long decidedAt : new long[] {atEpochMillis - 2 * WINDOW_MILLIS, atEpochMillis}) {
      for (String endpoint : ENDPOINTS) {
        calls.add(
            new CallEvent(
                client + decidedAt + endpoint,
                false,
                client,
                endpoint,
                CallEvent.DEFAULT_METER,
                3,
                true,
                DecidedBy.CACHE,
                null,
                1,
                decidedAt,
                null,
                List.of()));
      }
    }
    return calls;
  }

  private void send(int partition, List<CallEvent> calls) throws Exception {
    BatchHeader header =
        new BatchHeader("n", 1, ++batches[partition], calls.size(), begun, sent[partition], false);
    sent[partition] += calls.size();
    producer.send(CallsRecord.produced(partition, header, CallBatchWriter.encode(calls))).get();
  }

  /** Promises now, as a node does that lives; returns the record's offset. */
  private long promise(int partition) throws Exception {
    long now = System.currentTimeMillis();
    BatchHeader header =
        new BatchHeader("n", 1, batches[partition], 0, now, sent[partition], false);
    return producer.send(CallsRecord.produced(partition, header, new byte[0])).get().offset();
  }

  private boolean areFinal(List<Aggregator> aggregators) throws Exception {
    return areFinal(aggregators, ERASED)
        && areFinal(aggregators, LONGER)
        && areFinal(aggregators, HELD);
  }

  private boolean areFinal(List<Aggregator> aggregators, String client) throws Exception {
    promise(0);
    promise(1);
    for (Aggregator aggregator : aggregators) {
      HttpResponse<String> response = ask(aggregator, usage(client), "application/json");
      JsonNode data = JSON.readTree(response.body()).path("data");
      boolean isFinal = response.statusCode() == 200 && data.size() == 2 * ENDPOINTS.size();
      for (JsonNode row : data) {
        isFinal &= row.path("status").asText().equals("final");
      }
      if (!isFinal) {
        return false;
      }
    }
    return true;
  }

  private boolean isErasable() throws Exception {
    promise(0);
    promise(1);
    return said(3, "erase", ERASED, "--dry-run").contains("would erase 6 rows of " + ERASED);
  }

  /** Lets the broker delete everything that is counted. */
  private void expireCalls(int partition) throws Exception {
    long last = promise(partition);
    Await.until("all is counted", () -> counted(partition) >= last);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .deleteRecords(
              Map.of(
                  new TopicPartition(Topics.CALLS.name(), partition),
                  RecordsToDelete.beforeOffset(last)))
          .all()
          .get();
    }
  }

  private long counted(int partition) throws Exception {
    long[] offset = {-1};
    TopicContents.<MalformedRecordException>each(
        kafka.bootstrapServers(),
        Topics.STATE.name(),
        record -> {
          String key = new String(record.key(), StandardCharsets.UTF_8);
          if (key.equals(PartitionProgressCodec.key(partition))) {
            offset[0] = PartitionProgressCodec.decode(record.value()).offset();
          }
        });
    return offset[0];
  }

  private void interruptAfterTwoRows() {
    Erasure interrupted =
        new Erasure(
            new Erasure.Settings(connection(), ERASED, LATENESS, false),
            (what, done, total) -> {
              if (what.equals("erasing") && done == 2) {
                throw new IllegalStateException("interrupted");
              }
            });
    assertThrows(IllegalStateException.class, interrupted::run);
  }

  private void setCallsRetention(String millis) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .incrementalAlterConfigs(
              Map.of(
                  new ConfigResource(ConfigResource.Type.TOPIC, Topics.CALLS.name()),
                  List.of(
                      new AlterConfigOp(
                          new ConfigEntry("retention.ms", millis), AlterConfigOp.OpType.SET))))
          .all()
          .get();
    }
  }

  /** The newest row of each key of a client: its bytes, and its time. */
  private Map<String, String> rows(Topic topic) {
    Map<String, String> rows = new TreeMap<>();
    TopicContents.<RuntimeException>each(
        kafka.bootstrapServers(),
        topic.name(),
        record -> {
          String key = new String(record.key(), StandardCharsets.UTF_8);
          if (record.value() == null) {
            rows.remove(key);
          } else if (UsageStateCodec.isOfClient(key)) {
            rows.put(key, record.timestamp() + " " + base64(record.value()));
          }
        });
    return rows;
  }

  private static Map<String, String> of(String client, Map<String, String> rows) {
    Map<String, String> own = new TreeMap<>(rows);
    own.keySet().removeIf(key -> !UsageStateCodec.client(key).equals(client));
    return own;
  }

  /** The records of the ledger by their partitions. */
  private Map<Integer, List<String>> ledger() {
    Map<Integer, List<String>> ledger = new TreeMap<>();
    TopicContents.<RuntimeException>each(
        kafka.bootstrapServers(),
        Topics.LEDGER.name(),
        record ->
            ledger
                .computeIfAbsent(record.partition(), first -> new ArrayList<>())
                .add(base64(record.value())));
    return ledger;
  }

  private static void assertBeginsWith(
      Map<Integer, List<String>> before, Map<Integer, List<String>> after) {
    assertEquals(PARTITIONS, before.size());
    before.forEach(
        (partition, records) ->
            assertEquals(
                records,
                after.getOrDefault(partition, List.of()).stream().limit(records.size()).toList()));
  }

  private static String base64(byte[] value) {
    return Base64.getEncoder().encodeToString(value);
  }

  private void assertVerifies() {
    StringWriter said = new StringWriter();
    run(said, "verify", "--from", from(), "--to", Instant.now().toString());

    assertTrue(said.toString().contains("\n0 differences; "), said::toString);
    assertTrue(said.toString().contains("recounted 6 calls "), said::toString);
  }

  private String from() {
    return Instant.ofEpochMilli(begun - 60_000).toString();
  }

  private String usage(String client) {
    return "/v1/usage?window=PT2S&group_by=endpoint&client="
        + URLEncoder.encode(client, StandardCharsets.UTF_8)
        + "&from="
        + from()
        + "&to="
        + Instant.ofEpochMilli(begun + 600_000);
  }

  private JsonNode report(Aggregator aggregator, String client) throws Exception {
    return JSON.readTree(get(aggregator, usage(client), "application/json")).path("data");
  }

  /** Asks until it is answered: on a busy machine an answer may be refused for a moment. */
  private static String get(Aggregator aggregator, String path, String accept) throws Exception {
    List<HttpResponse<String>> answers = new ArrayList<>();
    Await.until(
        () -> "200 of " + path + ", was " + answers,
        () -> {
          answers.clear();
          answers.add(ask(aggregator, path, accept));
          return answers.get(0).statusCode() == 200;
        });
    return answers.get(0).body();
  }

  private static HttpResponse<String> ask(Aggregator aggregator, String path, String accept)
      throws Exception {
    return HTTP.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + aggregator.reportsPort() + path))
            .header("Accept", accept)
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private String said(int status, String... arguments) {
    StringWriter said = new StringWriter();
    List<String> all = new ArrayList<>(List.of("clients"));
    all.addAll(List.of(arguments));

    assertEquals(status, run(said, all.toArray(String[]::new)), said::toString);
    return said.toString();
  }

  private int run(StringWriter said, String... arguments) {
    PrintWriter printed = new PrintWriter(said, true);
    return WeirCommand.commandLine(environment).setOut(printed).setErr(printed).execute(arguments);
  }
}
