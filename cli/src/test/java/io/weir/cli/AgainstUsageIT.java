// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.Ports;
import io.weir.servers.testing.TestKafka;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** A policy file is compared with the calls that were counted, over a real broker. */
final class AgainstUsageIT {
  private static final int PARTITIONS = 1;

  private final TestKafka kafka = TestKafka.borrow();
  private final WrittenTopics topics = new WrittenTopics(0, PARTITIONS);
  private final StringWriter printed = new StringWriter();
  private final StringWriter errors = new StringWriter();
  @TempDir private Path folder;

  @BeforeEach
  void createTopics() throws Exception {
    WrittenTopics.create(kafka.bootstrapServers(), PARTITIONS);
  }

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  @Test
  void patternsThatFitNoCountedCall_andSharedBuckets_areNamed() throws Exception {
    counted("acme", "calls", "GET /a");
    counted("acme", "bytes", "GET /a");
    counted("globex", "calls", "POST /b");
    topics.writeComplete(kafka.bootstrapServers());

    assertEquals(
        List.of(
            "check: 'shared' matches every meter, so counted calls of the meters bytes,"
                + " calls share its bucket",
            "check: 'misspelt' match.client 'amce' matches no counted call",
            "check: 'misspelt' match.endpoint 'GET /A' matches no counted call",
            "check: 'misspelt' match.meter 'byte' matches no counted call",
            "check: 'apart' matches no counted call: none has the client, the endpoint and the"
                + " meter",
            "FILE is valid: 5 policies, 5 to check"),
        advice(
            0,
            """
            x-limit: &limit {capacity: 10, refill_tokens: 10, refill_period: PT1M}
            policies:
              - {name: shared, match: {client: [acme]}, limit: *limit}
              - {name: alone, match: {client: [globex]}, limit: {<<: *limit, capacity: 20}}
              - name: misspelt
                match: {client: [amce], endpoint: [GET /A], meter: [byte]}
                limit: *limit
              - {name: apart, match: {client: [globex], endpoint: [GET /a]}, limit: *limit}
              - {name: denied, match: {client: [acme]}, mode: shadow, limit: {algorithm: deny}}
            """));
  }

  @Test
  void nothingCounted_isReported() throws Exception {
    List<String> said = advice(0, "policies: []");

    assertEquals("no calls are counted yet, so there is nothing to compare with", said.get(0));
  }

  @Test
  void kafkaDoesNotAnswer_isReportedInOneLine_withItsAddress() throws Exception {
    String nowhere = "127.0.0.1:" + Ports.free();

    run(1, nowhere, "policies: []");

    String said = errors.toString();
    assertEquals(1, said.lines().count(), said);
    assertTrue(said.contains(nowhere), said);
  }

  private void counted(String client, String meter, String endpoint) {
    topics.states.add(
        new UsageState(
            new UsageKey(client, meter, endpoint),
            topics.window(),
            UsageState.Status.FINAL,
            1,
            topics.count(topics.first),
            true));
  }

  private List<String> advice(int status, String yaml) throws Exception {
    run(status, kafka.bootstrapServers(), yaml);
    return printed
        .toString()
        .replace(folder.resolve("policies.yml").toString(), "FILE")
        .lines()
        .dropWhile(line -> !line.matches("(check: |no calls are|FILE).*"))
        .toList();
  }

  private void run(int status, String bootstrapServers, String yaml) throws Exception {
    Path file = Files.writeString(folder.resolve("policies.yml"), yaml);
    CommandLine weir =
        WeirCommand.commandLine(Map.of("WEIR_KAFKA", bootstrapServers))
            .setOut(new PrintWriter(printed, true))
            .setErr(new PrintWriter(errors, true));
    assertEquals(
        status,
        weir.execute("policies", "check", "--against-usage", file.toString()),
        errors::toString);
  }
}
