// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.ChildJvm;
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
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The rows of a ledger are printed, over a real broker. */
final class LedgerIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int PARTITIONS = 2;
  private static final Instant START = Instant.parse("2026-11-21T14:00:00Z");
  private static final Instant END = Instant.parse("2026-11-21T14:15:00Z");

  /** Many times what a pipe holds. */
  private static final int MANY = 2_000;

  private final TestKafka kafka = TestKafka.borrow();
  @TempDir private Path folder;

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  @Test
  void fromBeginning_printsEachRowOnce_withKeyWindowAndValue() throws Exception {
    createTopics();
    UsageRow first = row("acme", "GET /a", 19);
    send(first, row("globex", "GET /a", 7), close(), row("acme", "GET /b", 500));

    List<JsonNode> all = rows(tail(0, "--from-beginning"));

    assertEquals(3, all.size(), all::toString);
    JsonNode line =
        all.stream()
            .filter(row -> row.path("value").path("quantity").asLong() == 19)
            .findFirst()
            .orElseThrow();
    assertEquals("acme", line.path("key").asText());
    assertEquals(START.toString(), line.path("window").path("from").asText());
    assertEquals(END.toString(), line.path("window").path("to").asText());
    assertEquals(JSON.readTree(LedgerRowCodec.encode(first)), line.path("value"));
    assertEquals(List.of(19L, 500L), quantities(tail(0, "--from-beginning", "--client", "acme")));
    assertEquals(
        List.of(19L), quantities(tail(0, "--from-beginning", "--client", "acme", "--max", "1")));
    assertEquals("", tail(0, "--from-beginning", "--client", "nobody"));
  }

  @Test
  void withoutOptions_printsWhatIsWrittenFromNowOn() throws Exception {
    createTopics();
    send(row("acme", "GET /old", 1));
    CompletableFuture<String> said =
        CompletableFuture.supplyAsync(() -> tail(0, "--client", "acme", "--max", "1"));

    // the command does not print where it begins, so rows are written until it prints one
    Await.until(
        "a row is printed",
        () -> {
          send(row("globex", "GET /new", 3), row("acme", "GET /new", 2));
          return said.isDone();
        });

    assertEquals(List.of(2L), quantities(said.get()));
  }

  @Test
  void recordThatIsNotARow_isReportedAndSkipped() throws Exception {
    createTopics();
    send(row("acme", "GET /a", 19));
    byte[] foreign = "by hand".getBytes(StandardCharsets.UTF_8);
    try (KafkaProducer<byte[], byte[]> producer = producer()) {
      producer.send(new ProducerRecord<>(Topics.LEDGER.name(), 1, null, foreign)).get();
      producer.send(new ProducerRecord<>(Topics.LEDGER.name(), 0, null, foreign)).get();
    }
    send(row("acme", "GET /b", 7));

    String said = tail(1, "--from-beginning");

    List<String> lines = said.lines().toList();
    assertEquals(2, lines.stream().filter(line -> line.startsWith("{")).count(), said);
    assertTrue(said.contains("weir: skipped the record at offset 0 of partition "), said);
    assertTrue(said.contains(", which is not a ledger row: "), said);
    assertEquals(4, lines.size(), said);
  }

  @Test
  void clusterWithoutTheTopic_isReportedAndNotChanged() throws Exception {
    String said = tail(1, "--from-beginning");

    assertTrue(said.contains("there is no topic " + Topics.LEDGER.name()), said);
    assertTrue(said.contains("'weir topics create'"), said);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      assertFalse(admin.listTopics().names().get().contains(Topics.LEDGER.name()));
    }
  }

  @Test
  void wrongOption_orMissingVariable_isRefused() {
    assertTrue(tail(2, "--max", "0").contains("--max must be at least 1"));
    StringWriter said = new StringWriter();
    CommandLine weir = WeirCommand.commandLine(Map.of());
    weir.setErr(new PrintWriter(said, true));
    assertEquals(2, weir.execute("ledger", "tail"));
    assertTrue(said.toString().contains("WEIR_KAFKA is not set"), said::toString);
  }

  @Test
  void readerOfThePipeCloses_endsSilently() throws Exception {
    createTopics();
    send(IntStream.range(0, MANY).mapToObj(i -> row("acme", "GET /" + i, i + 1)).toList());
    Path statuses = folder.resolve("statuses");
    Path errors = folder.resolve("errors");
    List<String> command = new ArrayList<>(List.of("bash", "-c"));
    command.add("\"$@\" | head -n 1; echo ${PIPESTATUS[0]} > " + statuses);
    command.add("-");
    command.addAll(process("--from-beginning", "--follow"));

    Process pipe = start(command, errors);

    try {
      String first = new String(pipe.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(pipe.waitFor(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS), "it goes on");
      assertEquals(1, rows(first).size(), first);
      assertEquals("0", Files.readString(statuses).strip());
      assertEquals("", Files.readString(errors));
    } finally {
      pipe.descendants().forEach(ProcessHandle::destroyForcibly);
      pipe.destroyForcibly();
    }
  }

  @Test
  void stopRequested_endsAfterAWholeLine_with0() throws Exception {
    createTopics();
    send(row("acme", "GET /a", 19));
    Path errors = folder.resolve("errors");
    Process tail = start(process("--from-beginning", "--follow"), errors);
    try {
      assertEquals(List.of(19L), quantities(tail.inputReader().readLine()));

      // SIGTERM: a shell may have made this JVM, and those that it starts, deaf to SIGINT
      assertTrue(tail.toHandle().destroy());

      assertTrue(tail.waitFor(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS), "it goes on");
      assertEquals(0, tail.exitValue());
      assertEquals("", Files.readString(errors));
    } finally {
      tail.destroyForcibly();
    }
  }

  // ---- the command

  /** Returns standard output and standard error of the command. */
  private String tail(int status, String... options) {
    StringWriter said = new StringWriter();
    CommandLine weir = WeirCommand.commandLine(Map.of("WEIR_KAFKA", kafka.bootstrapServers()));
    weir.setOut(new PrintWriter(said, true));
    weir.setErr(new PrintWriter(said, true));
    List<String> arguments = new ArrayList<>(List.of("ledger", "tail"));
    arguments.addAll(List.of(options));
    assertEquals(status, weir.execute(arguments.toArray(String[]::new)), said::toString);
    return said.toString();
  }

  private static List<String> process(String... options) {
    List<String> command = ChildJvm.command("128m", WeirCommand.class, "ledger", "tail");
    command.addAll(List.of(options));
    return command;
  }

  private Process start(List<String> command, Path errors) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
    builder.environment().put("WEIR_KAFKA", kafka.bootstrapServers());
    return builder.start();
  }

  private static List<JsonNode> rows(String said) throws Exception {
    List<JsonNode> rows = new ArrayList<>();
    for (String line : said.lines().toList()) {
      rows.add(JSON.readTree(line));
    }
    return rows;
  }

  private static List<Long> quantities(String said) throws Exception {
    return rows(said).stream().map(row -> row.path("value").path("quantity").asLong()).toList();
  }

  // ---- the ledger

  private void createTopics() throws Exception {
    try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
      topics.createMissing(PARTITIONS, Optional.empty());
    }
  }

  private static UsageRow row(String client, String endpoint, long quantity) {
    return new UsageRow(
        new UsageKey(client, "calls", endpoint),
        new UsageWindow(START.toEpochMilli(), END.toEpochMilli()),
        UsageRow.Type.FINAL,
        1,
        null,
        null,
        new UsageCount(quantity, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1),
        quantity,
        0,
        END.toEpochMilli(),
        true,
        0);
  }

  private static LedgerRow close() {
    return new CloseRow(0, END.toEpochMilli(), 1, 19, true, 0);
  }

  private void send(LedgerRow... rows) throws Exception {
    send(List.of(rows));
  }

  private void send(List<? extends LedgerRow> rows) throws Exception {
    try (KafkaProducer<byte[], byte[]> producer = producer()) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (LedgerRow row : rows) {
        int partition =
            row instanceof UsageRow usage
                ? ClientPartitioner.partition(usage.key().client(), PARTITIONS)
                : 0;
        byte[] value = LedgerRowCodec.encode(row);
        sent.add(producer.send(new ProducerRecord<>(Topics.LEDGER.name(), partition, null, value)));
      }
      for (Future<RecordMetadata> one : sent) {
        one.get();
      }
    }
  }

  private KafkaProducer<byte[], byte[]> producer() {
    return new KafkaProducer<>(
        Map.of("bootstrap.servers", kafka.bootstrapServers()),
        new ByteArraySerializer(),
        new ByteArraySerializer());
  }
}
