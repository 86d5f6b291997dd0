// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.io.ByteArrayInputStream;
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
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class SimulateCommandIT {
  private static final String POLICIES =
      """
      policies:
        - name: burst
          limit: {capacity: 5, refill_tokens: 1, refill_period: PT1M}
        - name: blocked
          match: {client: [spam]}
          limit: {algorithm: deny}
      """;

  @TempDir private Path folder;
  private String output = "";
  private String errors = "";

  private int run(Map<String, String> environment, String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(environment)
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true));
    int status = command.execute(arguments);
    output = out.toString();
    errors = err.toString();
    return status;
  }

  private void assertEnds(int status, String... arguments) {
    assertEquals(status, run(Map.of(), arguments), () -> output + errors);
  }

  @Test
  void withoutOptions_comparesAtTheEdgeOfTheMinute() {
    assertEnds(0, "simulate");

    List<String> lines = output.lines().toList();
    assertTrue(lines.get(0).contains("limit 100 calls per window of PT1M"), output);
    assertEquals(
        "fixed-window                2,000            1,000              0          200     50.0 %",
        lines.get(3));
  }

  @Test
  void html_isOneWellFormedPage_thatLoadsNothing() throws Exception {
    Path page = folder.resolve("page.html");
    assertEnds(0, "simulate", "--traffic", "poisson", "--windows", "5", "--html", page.toString());

    String text = Files.readString(page);
    String xml = text.substring("<!doctype html>\n".length());
    DocumentBuilderFactory.newInstance()
        .newDocumentBuilder()
        .parse(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
    assertFalse(text.contains("<script") || text.contains("src=") || text.contains("url("), text);
    assertEquals(5, text.split("<svg", -1).length - 1);
    assertTrue(text.contains("prefers-color-scheme: dark"), text);
  }

  @Test
  void wrongOptions_areNamed() {
    for (String[] wrong :
        new String[][] {
          {"simulate", "--limit", "0"},
          {"simulate", "--window", "PT0.5S"},
          {"simulate", "--window", "PT25H"},
          {"simulate", "--windows", "0"},
          {"simulate", "--limit", "1000000", "--windows", "100"},
          {"simulate", "--traffic", "chaotic"},
          {"simulate", "--algorithms", "gcra"},
          {"simulate", "--log", "a", "--traffic", "edge"},
          {"simulate", "--policies", "p.yml"},
          {"simulate", "--policies", "p.yml", "--log", "a", "--html", "h"},
          {"simulate", "--from", "2026-11-01T00:00:00Z"},
          {"simulate", "--from", "2026-11-02T00:00:00Z", "--to", "2026-11-01T00:00:00Z"}
        }) {
      assertEnds(2, wrong);
      assertTrue(errors.contains(wrong[1]), errors);
    }
    assertEnds(2, "simulate", "--html", folder.resolve("none/page.html").toString());
    assertTrue(errors.contains("the folder of --html must exist"), errors);
    assertEnds(1, "simulate", "--windows", "1");
    assertTrue(errors.contains("increase --windows"), errors);
    assertEnds(1, "simulate", "--log", folder.resolve("none.log").toString());
    assertTrue(errors.contains("none.log"), errors);
  }

  /** Regression: policies by address denied nothing, and nothing was said. */
  @Test
  void policies_ofAddresses_useThoseOfTheLog_unknownAttributesAreReported() throws Exception {
    String line = "203.0.113.9 - - [26/Nov/2026:00:00:00 +0000] \"GET /a H\" 200 1\n";
    Path log = Files.writeString(folder.resolve("access.log"), line.repeat(5));
    Path policies =
        Files.writeString(
            folder.resolve("p.yml"),
            """
            policies:
              - name: address
                key: [ip]
                limit: {capacity: 2, refill_tokens: 1, refill_period: PT1H}
              - name: region
                match: {attributes: {region: [eu]}}
                limit: {algorithm: deny}
              - name: tried
                mode: shadow
                limit: {algorithm: deny}
              - name: exports
                limit: {algorithm: concurrency, limit: 1, lease: PT1M}
            """);

    assertEnds(0, "simulate", "--policies", policies.toString(), "--log", log.toString());

    assertTrue(output.contains("3 calls (60.0 %) of 1 client would have been denied"), output);
    assertTrue(output.contains("'region' depends on attributes, which the traffic"), output);
    assertTrue(output.contains("'tried' is not enforced"), output);
    assertTrue(output.contains("'exports' limits concurrent calls"), output);
  }

  @Test
  void policies_overALog_saysWhoWouldBeLimited() throws Exception {
    StringBuilder log = new StringBuilder();
    for (int i = 0; i < 8; i++) {
      log.append("h - acme [26/Nov/2026:00:00:0").append(i).append(" +0000] \"GET /a H\" 200 1\n");
      log.append("10.0.0.1 - - [26/Nov/2026:00:0")
          .append(i)
          .append(":00 +0000] \"GET /a H\" 200 1\n");
    }
    log.append("h - spam [26/Nov/2026:00:00:05 +0000] \"GET /a H\" 200 1\nnothing\n");
    Path file = Files.writeString(folder.resolve("access.log"), log);
    Path policies = Files.writeString(folder.resolve("p.yml"), POLICIES);

    assertEnds(0, "simulate", "--policies", policies.toString(), "--log", file.toString());

    assertEquals(
        """
        17 calls of 3 clients from 2026-11-26T00:00:00Z to 2026-11-26T00:07:00Z
        4 calls (23.5 %) of 2 clients would have been denied, at a cost of 4

        policy                               denied
        blocked                                   1
        burst                                     3

        client                                calls       denied   first                  mostly by
        acme                                      8            3   2026-11-26T00:00:05Z   burst
        spam                                      1            1   2026-11-26T00:00:05Z   blocked
        """,
        output);
    assertTrue(errors.contains("1 line cannot be read as calls, the first is line 18"), errors);

    assertEnds(0, "simulate", "--log", file.toString(), "--limit", "2");
    assertTrue(output.startsWith("17 calls of 3 clients, limit 2 calls per window"), output);
  }

  @Test
  void policies_overRecordedCalls_takeTheRangeAndTheCost() throws Exception {
    Instant from = Instant.parse("2026-11-26T00:00:00Z");
    try (TestKafka kafka = TestKafka.borrow()) {
      try (TopicAdmin topics = TopicAdmin.connect(KafkaConnection.to(kafka.bootstrapServers()))) {
        topics.createMissing(1, Optional.empty());
      }
      List<CallEvent> calls = new ArrayList<>();
      for (int i = -1; i < 3; i++) {
        calls.add(
            new CallEvent(
                "id" + i,
                false,
                "acme",
                "GET /a",
                "calls",
                3,
                true,
                DecidedBy.CACHE,
                null,
                1,
                from.toEpochMilli() + i,
                null,
                List.of()));
      }
      try (KafkaProducer<byte[], byte[]> producer =
          new KafkaProducer<>(
              Map.of("bootstrap.servers", kafka.bootstrapServers()),
              new ByteArraySerializer(),
              new ByteArraySerializer())) {
        producer
            .send(new ProducerRecord<>(Topics.CALLS.name(), 0, null, CallBatchWriter.encode(calls)))
            .get();
      }
      Path policies = Files.writeString(folder.resolve("p.yml"), POLICIES);

      int status =
          run(
              Map.of("WEIR_KAFKA", kafka.bootstrapServers()),
              "simulate",
              "--policies",
              policies.toString(),
              "--from",
              from.toString(),
              "--to",
              from.plusMillis(2).toString());

      assertEquals(0, status, errors);
      assertTrue(
          output.startsWith(
              "2 calls of 1 client from 2026-11-26T00:00:00Z to 2026-11-26T00:00:00Z\n"
                  + "1 call (50.0 %) of 1 client would have been denied, at a cost of 3"),
          output);
    }
  }
}
