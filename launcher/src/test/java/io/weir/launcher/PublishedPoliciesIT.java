// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestKafka;
import java.io.IOException;
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

/** The commands on published policies and clients, over a real broker: one tells of the other. */
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
                Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "WEIR_SINGLE_COPY", "allow"))
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
        lines.get(1).startsWith("the client was billed by the months of UTC: the running period"),
        output);
    assertTrue(
        lines.get(2).startsWith("the client is billed by months from day 1 in Asia/Kathmandu: "),
        output);
    assertEnds(0, "clients", "set", "acme", "--billing-anchor", "2026-05-01");
    assertEquals(1, output.lines().count(), output);
    assertEnds(0, "clients", "delete", "acme");
    assertTrue(
        output.contains("the client is billed by the months of UTC: the running period is "),
        output);
  }
}
