// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class PoliciesCommandTest {
  @TempDir Path folder;

  @Test
  void check_validFile_printsEachPolicy_withWhatIsNotTheDefault() throws IOException {
    assertEquals(
        """
        burst                enforce, capacity 100, 100 tokens per PT1M, key [client], on cache failure local
        daily                shadow, quota of 5 tokens a day in UTC, key [client, endpoint], on cache failure local
        billed               enforce, quota of 10000 tokens a billing month (anchor 2026-01-17) in Europe/Paris, \
        key [client], on cache failure local, on cold cache hold, debt cap 500
        FILE is valid: 3 policies, clients with a calendar of their own: 1
        """,
        check(
            0,
            """
            policies:
              - name: burst
                limit: {capacity: 100, refill_tokens: 100, refill_period: PT1M}
              - name: daily
                key: [client, endpoint]
                mode: shadow
                limit: {algorithm: quota, limit: 5, period: day}
                debt_cap: 5
              - name: billed
                limit:
                  algorithm: quota
                  limit: 10000
                  period: billing
                  time_zone: Europe/Paris
                  billing_anchor: 2026-01-17
                on_cache_failure: local
                on_cold_cache: hold
                debt_cap: 500
            clients:
              acme: {time_zone: UTC}
            """));
  }

  @Test
  void check_wrongFile_printsEveryProblem_andExits1() throws IOException {
    assertEquals(
        """
        FILE: policies[0].limit.time_zone must be a time zone such as Europe/Paris, UTC or +02:00, is 'Mars'
        1 problem
        """,
        check(
            1,
            """
            policies:
              - name: a
                limit: {algorithm: quota, limit: 5, period: day, time_zone: Mars}
            """));
  }

  @Test
  void check_theExampleFile_isValid_alsoWithItsCommentedParts() throws IOException {
    String example = Files.readString(Path.of("..", "policies.yml"));

    assertTrue(check(0, example).endsWith("FILE is valid: 2 policies\n"));
    String whole = example.replaceAll("(?m)^#(  .*|clients:)$", "$1");
    assertTrue(
        check(0, whole)
            .endsWith("FILE is valid: 3 policies, clients with a calendar of their own: 1\n"));
  }

  private String check(int status, String yaml) throws IOException {
    Path file = Files.writeString(folder.resolve("policies.yml"), yaml);
    StringWriter printed = new StringWriter();
    CommandLine command =
        new CommandLine(new PoliciesCommand()).setOut(new PrintWriter(printed, true));
    assertEquals(status, command.execute("check", file.toString()));
    return printed.toString().replace(file.toString(), "FILE");
  }
}
