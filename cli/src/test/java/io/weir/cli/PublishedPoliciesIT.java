// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.CoreSuite;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The commands on published policies and clients, with a real broker. */
@CoreSuite
final class PublishedPoliciesIT {
  private static final String ONE_POLICY =
      """
      policies:
        - name: p
          limit: {capacity: %d, refill_tokens: 1, refill_period: PT1M}
      """;

  @TempDir private Path folder;
  private TestKafka kafka;
  private Path file;
  private @Nullable String answer;
  private String output = "";
  private String errors = "";

  @BeforeEach
  void start() {
    kafka = TestKafka.borrow();
    file = folder.resolve("first.yml");
  }

  @AfterEach
  void giveBack() {
    kafka.close();
  }

  private int run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(
                Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "WEIR_SINGLE_COPY", "allow"),
                () -> answer)
            .setOut(new PrintWriter(out, true))
            .setErr(new PrintWriter(err, true));
    int status = command.execute(arguments);
    output = out.toString();
    errors = err.toString();
    return status;
  }

  private void assertEnds(int status, String... arguments) {
    assertEquals(status, run(arguments), () -> output + errors);
  }

  private void write(int capacity) throws IOException {
    Files.writeString(file, ONE_POLICY.formatted(capacity));
  }

  @Test
  void apply_diff_export_history_tellOfOneAnother() throws Exception {
    write(5);
    assertEnds(1, "policies", "apply", file.toString());
    assertTrue(errors.contains("weir topics create"), errors);
    assertEnds(0, "topics", "create");

    assertEnds(0, "policies", "apply", file.toString());
    assertEquals(
        List.of("+ policy p", "1 added, 0 changed, 0 removed", "version 1 is published"),
        output.lines().toList());
    assertEnds(0, "policies", "diff", file.toString());
    write(7);
    assertEnds(1, "policies", "diff", file.toString());
    assertTrue(output.contains("    limit.capacity: 5 -> 7"), output);

    assertEnds(0, "policies", "export");
    Path exported = folder.resolve("exported.yml");
    Files.writeString(exported, output);
    assertEnds(0, "policies", "diff", exported.toString());

    assertEnds(0, "policies", "history", "p");
    assertEquals(1, output.lines().count());
    assertTrue(output.contains("weir policies apply first.yml"), output);
  }

  /** A first file of one's own once removed all other policies of a fleet without asking. */
  @Test
  void apply_fileWithoutPublishedPolicies_requiresConfirmation() throws Exception {
    assertEnds(0, "topics", "create");
    write(5);
    String others = Files.readString(file) + ONE_POLICY.formatted(9).substring(10);
    Path all =
        Files.writeString(folder.resolve("all.yml"), others.replaceFirst("name: p", "name: q"));
    assertEnds(0, "policies", "apply", all.toString());

    assertEnds(3, "policies", "apply", file.toString());
    assertEquals(
        List.of(
            "~ policy p",
            "    limit.capacity: 9 -> 5",
            "- policy q",
            "0 added, 1 changed, 1 removed; nothing is published yet",
            "publish the file and remove the listed entries? [y/N] "),
        output.lines().filter(line -> !line.contains("its place")).toList());
    assertTrue(errors.contains("first.yml is not published: this would remove policy q, "), errors);
    assertTrue(errors.contains("--yes"), errors);
    answer = "n";
    assertEnds(3, "policies", "apply", file.toString());
    assertEnds(0, "policies", "diff", all.toString());

    answer = "y";
    assertEnds(0, "policies", "apply", file.toString());
    assertTrue(output.endsWith("version 2 is published" + System.lineSeparator()), output);
    answer = null;
    assertEnds(0, "policies", "apply", all.toString());
    assertEnds(0, "policies", "apply", "--yes", file.toString());
    assertEnds(0, "policies", "diff", file.toString());
  }

  /** Unreadable entries are removed too, so their removal needs the same confirmation. */
  @Test
  void apply_unreadableRecord_requiresConfirmation() throws Exception {
    assertEnds(0, "topics", "create");
    write(5);
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new StringSerializer(),
            new StringSerializer())) {
      producer.send(new ProducerRecord<>("weir.policies.v1", 0, "policy/a", "{}")).get();
    }

    assertEnds(3, "policies", "apply", file.toString());
    assertTrue(output.contains("- policy a (cannot be read)"), output);
    assertEnds(0, "policies", "apply", "--yes", file.toString());
  }

  @Test
  void clientsSet_ofAnotherCalendar_tellsTheOldAndTheNewRunningPeriod() throws Exception {
    assertEnds(0, "topics", "create");
    write(5);
    assertEnds(0, "policies", "apply", file.toString());

    assertEnds(0, "clients", "set", "acme", "--time-zone", "Asia/Kathmandu");
    List<String> lines = output.lines().toList();
    assertEquals(3, lines.size(), output);
    assertEquals("changed; version 2 is published", lines.get(0));
    assertTrue(
        lines.get(1).startsWith("the client was billed by the months of UTC: the current period"),
        output);
    assertTrue(
        lines.get(2).startsWith("the client is billed by months from day 1 in Asia/Kathmandu: "),
        output);
    assertEnds(0, "clients", "set", "acme", "--billing-anchor", "2026-05-01");
    assertEquals(1, output.lines().count(), output);
    assertEnds(0, "clients", "delete", "acme");
    assertTrue(
        output.contains("the client is billed by the months of UTC: the current period is "),
        output);
  }

  @Test
  void keys_areCreated_listed_keptByFiles_andRevoked() throws Exception {
    assertEnds(0, "topics", "create");
    write(5);
    assertEnds(0, "policies", "apply", file.toString());

    assertEnds(0, "clients", "keys", "create", "acme", "--id", "ci", "--expires-in", "90d");
    String secret = output.strip();
    assertTrue(secret.matches("weir_[A-Za-z0-9_-]{43}"), output);
    assertTrue(
        errors.matches(
            "key ci of acme is created, and is not shown again, expires at [^,]*Z;"
                + " version 2 is published\\R"),
        errors);
    String hash = ApiKeyHash.of("elsewhere").toString();
    assertEnds(0, "clients", "keys", "create", "acme", "--sha256", hash);
    assertEquals("", output);

    assertEnds(0, "clients", "keys", "list", "acme");
    List<String> lines = output.lines().toList();
    assertEquals(3, lines.size(), output);
    assertTrue(lines.get(0).startsWith("ci "), output);
    assertTrue(
        lines.get(0).contains(ApiKeyHash.of(secret).toString().substring(0, 12) + "… expires at "),
        output);
    assertEquals(hash.substring(0, 8), lines.get(1).strip().split(" ", -1)[0], output);
    assertTrue(lines.get(1).endsWith(hash.substring(0, 12) + "… does not expire"), output);
    assertTrue(lines.get(2).startsWith("2 keys, since version 3, "), output);

    // what is exported has the keys; the first file lacks them, and would revoke them
    assertEnds(0, "policies", "export");
    assertFalse(output.contains(secret), output);
    Path exported = folder.resolve("exported.yml");
    Files.writeString(exported, output);
    assertEnds(0, "policies", "apply", exported.toString());
    assertEnds(1, "policies", "apply", file.toString());
    assertTrue(errors.contains("the file lacks published API keys (ci of client acme, "), errors);
    assertEnds(1, "policies", "apply", "--dry-run", file.toString());
    assertTrue(output.contains("refused without --revoke-keys"), output);

    assertEnds(0, "clients", "keys", "revoke", "acme", "ci");
    assertEnds(1, "clients", "keys", "revoke", "acme", "ci");
    assertTrue(errors.contains("client acme has no API key with this id"), errors);
    assertEnds(0, "policies", "apply", "--revoke-keys", "--yes", file.toString());
    assertEnds(0, "clients", "keys", "list", "acme");
    assertEquals("0 keys; the client has no settings", output.strip());
    assertEnds(0, "policies", "history", "acme");
    assertTrue(output.contains("weir clients keys revoke acme ci"), output);
    assertFalse(output.contains(secret), output);
  }
}
