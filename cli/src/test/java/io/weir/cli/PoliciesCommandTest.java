// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.cli.policies.PoliciesCommand;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class PoliciesCommandTest {
  @TempDir Path folder;

  @Test
  void check_validFile_printsEachPolicy_withWhatIsNotTheDefault() throws IOException {
    assertEquals(
        """
        burst                enforce, capacity 100, 100 tokens per PT1M, key [client], on cache failure local, debt cap 500
                             for every call
        daily                shadow, quota of 5 tokens a day in UTC, key [client, endpoint], on cache failure local
                             for endpoint GET * or HEAD *; meter calls
        billed               enforce, quota of 10000 tokens a billing month (anchor 2026-01-17) in Europe/Paris, \
        key [client], on cache failure local, on cold cache hold
                             for every call
        check: 'burst' and 'billed' name no meter, so their buckets also count other meters, such as bytes; \
        write meter: [calls] to count only the meter 'calls'
        FILE is valid: 3 policies, 1 to check, clients with their own settings: 1
        """,
        check(
            0,
            """
            policies:
              - name: burst
                limit: {capacity: 100, refill_tokens: 100, refill_period: PT1M}
                debt_cap: 500
              - name: daily
                key: [client, endpoint]
                mode: shadow
                match: {endpoint: ["GET *", "HEAD *"], meter: [calls]}
                limit: {algorithm: quota, limit: 5, period: day}
              - name: billed
                limit:
                  algorithm: quota
                  limit: 10000
                  period: billing
                  time_zone: Europe/Paris
                  billing_anchor: 2026-01-17
                on_cache_failure: local
                on_cold_cache: hold
            clients:
              acme: {time_zone: UTC}
            """));
  }

  @Test
  void check_wrongFile_printsEveryProblem_andExits1() throws IOException {
    assertEquals(
        """
        FILE: policies[0].limit.time_zone must be a time zone such as Europe/Paris, UTC or +02:00, but is 'Mars'
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
  void check_suspiciousPattern_isReportedButNotRefused() throws IOException {
    String told =
        check(
            0,
            """
            policies:
              - name: items
                match: {endpoint: ["^GET /v1/items$"]}
                limit: {algorithm: deny}
            """);

    assertTrue(
        told.contains(
            "check: 'items' match.endpoint '^GET /v1/items$' looks like a regular expression"),
        told);
    assertTrue(told.endsWith("FILE is valid: 1 policy, 1 to check\n"), told);
  }

  @Test
  void import_ofEnvoysConfiguration_printsAFileThatCheckAccepts() throws IOException {
    Path config =
        Files.writeString(
            folder.resolve("ratelimit.yml"),
            """
            domain: shop
            descriptors:
              - {key: user_id, rate_limit: {unit: minute, requests_per_unit: 100}}
            """);
    StringWriter printed = new StringWriter();
    CommandLine command = WeirCommand.commandLine(Map.of()).setOut(new PrintWriter(printed, true));

    assertEquals(0, command.execute("policies", "import", "--envoy", config.toString()));
    String told = check(0, printed.toString());
    assertTrue(told.endsWith("FILE is valid: 1 policy\n"), told);
  }

  @Test
  void explain_ofADescriptor_namesTheMostSpecificPolicyAlone() throws IOException {
    Path config =
        Files.writeString(
            folder.resolve("ratelimit.yml"),
            """
            domain: shop
            descriptors:
              - {key: path, rate_limit: {unit: day, requests_per_unit: 9}}
              - {key: path, value: /slow, rate_limit: {unit: day, requests_per_unit: 2}}
            """);
    StringWriter printed = new StringWriter();
    CommandLine command = WeirCommand.commandLine(Map.of()).setOut(new PrintWriter(printed, true));
    assertEquals(0, command.execute("policies", "import", "--envoy", config.toString()));
    Path file = Files.writeString(folder.resolve("imported.yml"), printed.toString());
    printed.getBuffer().setLength(0);

    assertEquals(
        0,
        command.execute(
            "policies",
            "explain",
            "--client=shop",
            "--endpoint=shop;path=/slow",
            "--attribute=envoy.domain=shop",
            "--attribute=envoy.descriptor=path",
            "--attribute=path=/slow",
            file.toString()));
    String told = printed.toString();
    assertTrue(told.contains(" 1. shop;path=/slow"), told);
    assertFalse(told.contains(" 2. "), told);
    assertTrue(
        told.contains(
            "  - shop;path            not evaluated: a more specific policy matches the"
                + " descriptor\n"),
        told);
  }

  @Test
  void explain_ofAReplacedPolicy_namesTheOneThatTakesItsPlace() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("replaces.yml"),
            """
            policies:
              - {name: all, limit: {algorithm: fixed-window, limit: 9, window: PT1M}}
              - name: slow
                match: {endpoint: [slow]}
                limit: {algorithm: fixed-window, limit: 2, window: PT1M}
                replaces: [all]
            """);
    StringWriter printed = new StringWriter();
    CommandLine command = WeirCommand.commandLine(Map.of()).setOut(new PrintWriter(printed, true));

    assertEquals(
        0,
        command.execute("policies", "explain", "--client=a", "--endpoint=slow", file.toString()));
    String told = printed.toString();
    assertTrue(told.contains(" 1. slow"), told);
    assertTrue(told.contains(", replaces all\n"), told);
    assertFalse(told.contains(" 2. "), told);
    assertTrue(told.contains("  - all                  not evaluated: replaced by slow\n"), told);
  }

  @Test
  void import_ofWhatHasNoCounterpart_namesFileAndPath_andPrintsNoPolicy() throws IOException {
    Path config =
        Files.writeString(
            folder.resolve("ratelimit.yml"),
            "{domain: shop, descriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1,"
                + " quota_mode: true}}]}");
    StringWriter printed = new StringWriter();
    StringWriter errors = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(Map.of())
            .setOut(new PrintWriter(printed, true))
            .setErr(new PrintWriter(errors, true));

    assertEquals(1, command.execute("policies", "import", "--envoy", config.toString()));
    assertEquals("", printed.toString());
    assertEquals(
        config + ": descriptors[0].rate_limit.quota_mode has no counterpart\n1 problem\n",
        errors.toString());
    errors.getBuffer().setLength(0);
    assertEquals(1, command.execute("policies", "import", "--envoy", "nowhere.yml"));
    assertEquals("weir: nowhere.yml does not exist\n", errors.toString());
  }

  @Test
  void check_missingFile_isReportedWithoutAStackTrace() {
    StringWriter printed = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(Map.of("WEIR_POLICIES", "nowhere.yml"))
            .setErr(new PrintWriter(printed, true));

    assertEquals(1, command.execute("policies", "check"));
    assertEquals("weir: nowhere.yml does not exist\n", printed.toString());
  }

  @Test
  void subCommandMissing_isUsage_andExits2() {
    StringWriter printed = new StringWriter();
    CommandLine command = WeirCommand.commandLine(Map.of()).setErr(new PrintWriter(printed, true));

    for (String[] arguments : new String[][] {{}, {"policies"}, {"topics"}, {"quarantine"}}) {
      assertEquals(2, command.execute(arguments), String.join(" ", arguments));
    }
    assertTrue(printed.toString().contains("Usage: weir policies"), printed.toString());
  }

  /** Fifty customers on three plans. */
  private static String plans() {
    String pro =
        IntStream.rangeClosed(1, 50)
            .filter(i -> i % 5 == 0)
            .mapToObj(i -> "customer-" + i)
            .collect(Collectors.joining(", "));
    return """
        x-limits:
          free: &free {capacity: 10, refill_tokens: 10, refill_period: PT1M}
          pro: &pro {capacity: 100, refill_tokens: 1000, refill_period: PT1M}
        policies:
          - name: blocked
            match: {client: [customer-13]}
            limit: {algorithm: deny}
          - name: pro
            match: {meter: [calls], client: [PRO]}
            limit: *pro
          - name: enterprise
            match: {meter: [calls], client: ["corp-*"]}
            limit: {algorithm: quota, limit: 1000000, period: billing}
            on_cold_cache: hold
          - name: writes
            match: {endpoint: ["POST *"], meter: [calls]}
            key: [client, endpoint]
            limit: *free
          - name: bytes
            match: {meter: [bytes]}
            limit: *pro
        clients:
          corp-1: {time_zone: Europe/Paris, billing_anchor: 2026-01-17}
        """
        .replace("PRO", pro);
  }

  @Test
  void explain_namesTheDecidingPoliciesInOrder_andWhyNotTheRest() throws IOException {
    String told = explain("--client", "customer-10", "--endpoint", "POST /v1/orders");

    assertEquals(
        """
        client customer-10, endpoint POST /v1/orders, meter calls
         1. pro                  enforce, capacity 100, 1000 tokens per PT1M, key [client], on cache failure local
                                 bucket w1:{11:customer-10}:3:pro
         2. writes               enforce, capacity 10, 10 tokens per PT1M, key [client, endpoint], on cache failure local
                                 bucket w1:{11:customer-10}:6:writes:15:POST /v1/orders
          - blocked              not evaluated: is for client customer-13
          - enterprise           not evaluated: is for client corp-*
          - bytes                not evaluated: is for meter bytes
        """,
        told);
  }

  @Test
  void explain_ofABlockedClient_saysSoFirst() throws IOException {
    String told = explain("--client", "customer-13");

    assertEquals(
        "every such call is blocked: 'blocked' denies it (429, reason blocked)",
        told.lines().skip(1).findFirst().orElseThrow());
  }

  @Test
  void checkAndExplain_longLists_areCut() throws IOException {
    String of = "client customer-5, customer-10, customer-15 and 7 more";

    assertTrue(explain("--client", "somebody").contains("not evaluated: is for " + of));
    assertTrue(check(0, plans()).contains("for " + of + "; meter calls"));
  }

  @Test
  void check_unusedCalendar_isReported() throws IOException {
    String told = check(0, plans() + "  crop-1: {time_zone: UTC}\n");

    assertTrue(told.contains("check: crop-1 has a calendar in 'clients'"), told);
  }

  @Test
  void check_calendarForBillsAlone_isNotReported() throws IOException {
    String told = check(0, plans() + "  crop-1: {time_zone: Asia/Kathmandu}\n");

    assertFalse(told.contains("crop-1"), told);
  }

  @Test
  void explain_ofAClientWithACalendar_showsThePeriod() throws IOException {
    String told = explain("--client", "corp-1");

    assertTrue(
        told.contains(
            "the client has its own calendar: time zone Europe/Paris, billing anchor 2026-01-17"),
        told);
    assertTrue(told.contains("the client is billed by months from day 17 in Europe/Paris"), told);
    assertTrue(told.contains(" period 20"), told);
    assertTrue(told.contains("- writes               not evaluated: is for endpoint POST *"), told);
  }

  @Test
  void explain_callThatNoPolicyMatches_saysSo() throws IOException {
    String told = explain("--client", "somebody");

    assertTrue(told.contains("no policy matches: the call is allowed and counted"), told);
  }

  @Test
  void explain_layers_tellsTheBuckets_andWhatACallLacks() throws IOException {
    String layers =
        """
        policies:
          - name: per-address
            key: [ip]
            limit: {capacity: 10, refill_tokens: 10, refill_period: PT1M}
          - name: there
            key: []
            match: {ip: [203.0.113.0/24], attributes: {region: [eu-*]}}
            limit: {capacity: 10, refill_tokens: 10, refill_period: PT1M}
          - name: per-plan
            key: [plan]
            limit: {capacity: 10, refill_tokens: 10, refill_period: PT1M}
        """;
    assertEquals(
        """
        client a, endpoint -, meter calls, from 203.0.113.9/32, {region=eu-1}
         1. per-address          enforce, capacity 10, 10 tokens per PT1M, key [ip] of IPv4 /32, IPv6 /64, on cache failure local
                                 bucket w1:{*11:per-address|203.0.113.9/32}
         2. there                enforce, capacity 10, 10 tokens per PT1M, key [], on cache failure local
                                 bucket w1:{*5:there}
          - per-plan             not evaluated: has a bucket for each plan, and the client has no plan
        """,
        explainOf(layers, "--client", "a", "--ip", "203.0.113.9", "--attribute", "region=eu-1"));
    String without = explainOf(layers, "--client", "a");
    assertTrue(
        without.contains(
            "- per-address          not evaluated: has a bucket for each address, and the call has no"
                + " address (--ip)"),
        without);
    assertTrue(
        without.contains("- there                not evaluated: is for ip 203.0.113.0/24"),
        without);
    assertTrue(
        explainOf(layers, "--client", "a", "--ip", "203.0.113.9")
            .contains("- there                not evaluated: is for attribute region eu-*"));
  }

  private String explain(String... options) throws IOException {
    return explainOf(plans(), options);
  }

  private String explainOf(String yaml, String... options) throws IOException {
    Path file = Files.writeString(folder.resolve("plans.yml"), yaml);
    StringWriter printed = new StringWriter();
    CommandLine command =
        WeirCommand.commandLine(Map.of("WEIR_POLICIES", file.toString()))
            .setOut(new PrintWriter(printed, true));
    List<String> arguments = new ArrayList<>(List.of("policies", "explain"));
    arguments.addAll(List.of(options));
    assertEquals(0, command.execute(arguments.toArray(new String[0])), printed.toString());
    return printed.toString();
  }

  @Test
  void check_theExampleFile_isValid_alsoWithItsCommentedParts() throws IOException {
    String example = Files.readString(Checkout.file("deploy/policies.yml"));

    assertTrue(check(0, example).endsWith("FILE is valid: 2 policies\n"));
    String whole = example.replaceAll("(?m)^#(  .*|clients:)$", "$1");
    assertTrue(
        check(0, whole)
            .endsWith("FILE is valid: 3 policies, clients with their own settings: 1\n"));
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
